/* Linked against a foreign libcudart.so.13 that its RPATH leads to: who answers? */
#include <stdio.h>

const char *fake_tag(void);

int main(void)
{
	puts(fake_tag());
	return 0;
}
