/*
 * histogram.c
 *		Times as a histogram of powers of two in the form of bcc's tools.
 */
#include <string.h>

#include "report/histogram.h"

/* Length of the longest bar, characters. */
#define BAR		38

/*
 * Print a histogram whose slot n counts 2^n to 2^(n+1) - 1 ns.  Empty slots at
 * both ends are left out; of nothing, nothing is printed.
 */
void
histogram__print(FILE *file, const char *title, const __u64 *slots, unsigned slot_count)
{
	static const char stars[BAR + 1] = "**************************************";
	unsigned	first = 0;
	unsigned	last = 0;
	__u64		most = 0;

	for (unsigned i = 0; i < slot_count; i++)
	{
		if (slots[i] == 0)
			continue;
		if (most == 0)
			first = i;
		last = i;
		if (slots[i] > most)
			most = slots[i];
	}
	if (most == 0)
		return;

	fprintf(file, "\n%s\n     nsecs                    : count    distribution\n", title);
	for (unsigned i = first; i <= last; i++)
	{
		__u64		from = i == 0 ? 0 : 1ULL << i;
		int			bar = (int) ((double) slots[i] / (double) most * BAR);

		if (slots[i] > 0 && bar == 0)
			bar = 1;
		fprintf(file, "%12llu -> %-13llu: %-8llu |%-*.*s|\n", from,
				(2ULL << i) - 1, slots[i], BAR, bar, stars);
	}
}
