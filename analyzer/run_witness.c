#include "run_witness.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Low numbers, so that everything above can be closed in one go. */
enum {
	QUESTION = 0,
	ANSWER = 1
};

static _Noreturn void be_witness(pid_t parent, int question, int answer)
{
	const struct timespec now = {0, 0};
	unsigned char number, saw;
	sigset_t one;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		_exit(0);
	prctl(PR_SET_NAME, "vramscope-wait");
	/* answer is above question: the pipes were made in this order. */
	if (dup2(question, QUESTION) < 0 || dup2(answer, ANSWER) < 0 || close_range(2, ~0u, 0) < 0)
		_exit(0);
	while (read(QUESTION, &number, 1) == 1) {
		sigemptyset(&one);
		sigaddset(&one, number);
		saw = sigtimedwait(&one, NULL, &now) == number;
		if (write(ANSWER, &saw, 1) != 1)
			break;
	}
	_exit(0);
}

void vs_run_witness_start(struct vs_run_witness *witness)
{
	int question[2], answer[2];
	pid_t parent = getpid();

	witness->pid = 0;
	if (pipe2(question, O_CLOEXEC) < 0)
		return;
	if (pipe2(answer, O_CLOEXEC) < 0) {
		close(question[0]);
		close(question[1]);
		return;
	}
	witness->pid = fork();
	if (witness->pid == 0)
		be_witness(parent, question[0], answer[1]);
	close(question[0]);
	close(answer[1]);
	witness->question = question[1];
	witness->answer = answer[0];
	if (witness->pid < 0) {
		close(witness->question);
		close(witness->answer);
		witness->pid = 0;
	}
}

bool vs_run_witness_saw(struct vs_run_witness *witness, int number)
{
	unsigned char byte = (unsigned char)number;

	if (!witness->pid)
		return false;
	/* It may have been stopped along with us, and only we were told to go on. */
	kill(witness->pid, SIGCONT);
	if (write(witness->question, &byte, 1) != 1 || read(witness->answer, &byte, 1) != 1)
		return false;
	return byte == 1;
}

void vs_run_witness_stop(struct vs_run_witness *witness)
{
	if (!witness->pid)
		return;
	close(witness->question);
	close(witness->answer);
	kill(witness->pid, SIGKILL);
	while (waitpid(witness->pid, NULL, 0) < 0 && errno == EINTR)
		;
	witness->pid = 0;
}
