/*
 * symbol.c
 *		Finds where a global variable is in the memory of a running program.
 *
 * From the dynamic symbols of the program's file, which stripped programs have
 * too, and the address that the file is mapped at.  Reads no memory of the process.
 * The file is the choice of the cluster's owner, so a child without rights reads it.
 */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "cluster/symbol.h"

/* Find a symbol's address in the file. */
static int
find_in_file(Elf *elf, const char *name, uint64_t *value)
{
	Elf_Scn    *section = NULL;

	while ((section = elf_nextscn(elf, section)) != NULL)
	{
		GElf_Shdr	header;
		Elf_Data   *data;

		if (gelf_getshdr(section, &header) == NULL || header.sh_entsize == 0 ||
			(header.sh_type != SHT_DYNSYM && header.sh_type != SHT_SYMTAB))
			continue;
		data = elf_getdata(section, NULL);
		for (size_t i = 0; data != NULL && i < data->d_size / header.sh_entsize; i++)
		{
			const char *found;
			GElf_Sym	symbol;

			if (gelf_getsym(data, (int) i, &symbol) == NULL)
				break;
			if (symbol.st_shndx == SHN_UNDEF)
				continue;
			found = elf_strptr(elf, header.sh_link, symbol.st_name);
			if (found != NULL && strcmp(found, name) == 0)
			{
				*value = symbol.st_value;
				return 0;
			}
		}
	}
	return -ENOENT;
}

/* The address that the file is linked for. */
static int
find_base(Elf *elf, uint64_t *base)
{
	GElf_Phdr	header;
	size_t		count;

	if (elf_getphdrnum(elf, &count) != 0)
		return -EINVAL;
	for (size_t i = 0; i < count; i++)
		if (gelf_getphdr(elf, (int) i, &header) != NULL &&
			header.p_type == PT_LOAD && header.p_offset == 0)
		{
			*base = header.p_vaddr;
			return 0;
		}
	return -EINVAL;
}

/* The address that a process has mapped the start of its program at. */
static int
find_mapping(pid_t pid, const struct stat *file, uint64_t *start)
{
	unsigned long long from;
	unsigned long long offset;
	unsigned long inode;
	char		line[512];
	int			err = -ESRCH;
	FILE	   *maps;

	snprintf(line, sizeof(line), "/proc/%d/maps", (int) pid);
	maps = fopen(line, "re");
	if (maps == NULL)
		return -errno;
	while (err != 0 && fgets(line, sizeof(line), maps) != NULL)
		if (sscanf(line, "%llx-%*x %*s %llx %*s %lu", &from, &offset, &inode) == 3 &&
			offset == 0 && inode == file->st_ino)
		{
			*start = from;
			err = 0;
		}
	fclose(maps);
	return err;
}

/* Read a program's file: where is the variable?  This runs in a child without rights. */
int
symbol__read(int fd, const void *name, void *answer)
{
	struct symbol_offsets *offsets = answer;
	Elf		   *elf;
	int			err;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (elf == NULL)
		return -EINVAL;
	err = find_in_file(elf, name, &offsets->value);
	if (err == 0)
		err = find_base(elf, &offsets->base);
	elf_end(elf);
	return err;
}

/* Start the child that reads programs. */
int
symbol__start(struct confined *reader, const char *name)
{
	return confined__start(reader, symbol__read, name, sizeof(struct symbol_offsets));
}

/* Find the variable of the program that a process runs.  -ESRCH: the process has ended. */
int
symbol__find(struct confined *reader, pid_t pid, uint64_t *address)
{
	struct symbol_offsets offsets;
	uint64_t	start = 0;
	struct stat st;
	char		path[64];
	int			err;
	int			fd;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int) pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	err = fstat(fd, &st) < 0 ? -errno : confined__call(reader, fd, &offsets);
	close(fd);
	if (err == 0)
		err = find_mapping(pid, &st, &start);
	if (err == 0)
		*address = offsets.value - offsets.base + start;
	return err;
}
