/*
 * Somebody else's audit library. Says that it is there; with OTHER_AUDIT_ANSWER it answers every
 * search for libharmless.so with that path, behind our back.
 */
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT unsigned int la_version(unsigned int version)
{
	static const char line[] = "other audit library is here\n";
	ssize_t written = write(STDERR_FILENO, line, sizeof(line) - 1);

	(void)written;
	return version < LAV_CURRENT ? version : LAV_CURRENT;
}

EXPORT char *la_objsearch(const char *name, uintptr_t *cookie, unsigned int flag)
{
	char *answer = getenv("OTHER_AUDIT_ANSWER");

	(void)cookie;
	(void)flag;
	return answer && !strcmp(name, "libharmless.so") ? answer : (char *)name;
}
