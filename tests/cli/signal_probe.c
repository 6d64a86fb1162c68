/*
 * usage: signal_probe NUMBER
 *
 * Says "ready" when it waits for all signals there are, then prints the number of each it gets,
 * with the value of a queued one, until signal NUMBER, after which it ends with exit status 5.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	int last = argc > 1 ? atoi(argv[1]) : SIGTERM, number;
	siginfo_t info;
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("ready");
	do {
		number = sigwaitinfo(&all, &info);
		if (number < 0) /* it was stopped meanwhile */
			continue;
		if (info.si_code == SI_QUEUE)
			printf("%d with %d\n", number, info.si_value.sival_int);
		else
			printf("%d\n", number);
	} while (number != last);
	return 5;
}
