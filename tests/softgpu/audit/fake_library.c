/* A library that can say who it is. One that must never be mapped says so if its code runs. */
#include <unistd.h>

const char *fake_tag(void);

__attribute__((visibility("default"))) const char *fake_tag(void)
{
	return FAKE_TAG;
}

#ifdef FAKE_FOREIGN
__attribute__((constructor)) static void shout(void)
{
	static const char line[] = "FOREIGN CODE RAN\n";
	ssize_t written = write(STDOUT_FILENO, line, sizeof(line) - 1);

	(void)written;
}
#endif
