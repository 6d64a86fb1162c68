#include "session.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compose.h"
#include "exit_help.h"
#include "info.h"
#include "memory_info.h"
#include "merge.h"
#include "message.h"
#include "output.h"
#include "private_library.h"
#include "ring.h"
#include "size_limit.h"
#include "writer.h"

#define SHM_FOLDER "/dev/shm"
#define HIGH_FD    500 /* out of the way of programs that count on small ones */

/* Of the log's chunks; the rest comes when it is needed. */
#define FIRST_SIZE (8u << 20)

/*
 * For how long the end is looked at again because a thread is in the middle of a record. Less than
 * what makes it one that is stuck: whoever may still write then finds a log to write to.
 */
#define LAST_CHANCE_NS (VS_MERGE_STUCK_NS / 5)

/* A trace that grows slowly is written out now and then, for those who look at it alone. */
#define FLUSH_NS UINT64_C(30000000000)

/* Records on their way from the log to the writer. */
#define NR_AT_ONCE 32u

/* How long a disk that was full is left alone. */
#define RETRY_NS UINT64_C(1000000000)

static struct session {
	struct vs_live_log log;
	struct vs_merge *merge;
	struct vs_writer *writer;    /* NULL: not attached, or given up */
	struct vs_size_limit *limit; /* NULL: none */
	uint64_t max_size;           /* 0: no limit */
	bool is_bare;
	bool is_open;     /* there are files */
	bool is_given_up; /* the trace is gone: nothing can be written any more */
	bool has_own_files;
	uint64_t nr_events;  /* in the file's EVENTS blocks */
	uint64_t nr_pending; /* handed to the writer, of those */
	uint32_t next_node;  /* of the trace's stacks, for the next writer */
	uint64_t flushed_ns; /* when it was last written out */
	uint64_t failed_ns;  /* when that last failed; 0: it did not */
	bool has_told;       /* that it failed */
	struct vs_clock_instant start;
	int fd; /* the writer's; only looked at */
	dev_t device;
	ino_t inode;
	char path[PATH_MAX];
	char log_path[PATH_MAX];
} session;

static const char *error_text(int error)
{
#if __GLIBC_PREREQ(2, 32)
	/* strerror may translate, and allocate. */
	const char *text = strerrordesc_np(error);
#else
	const char *text = strerror(error);
#endif

	return text ? text : "unknown error";
}

/* ---- Opening --------------------------------------------------------------------------------- */

/* /proc/self/stat: proc(5). All zero without /proc. */
struct stat_fields {
	char state;           /* 3, of the first thread */
	uint64_t nr_threads;  /* 20 */
	uint64_t start_ticks; /* 22 */
};

static uint64_t read_number(const char *c)
{
	uint64_t number = 0;

	for (; *c >= '0' && *c <= '9'; c++)
		number = number * 10 + (uint64_t)(*c - '0');
	return number;
}

static void read_stat(struct stat_fields *fields)
{
	char text[1024];
	const char *c;
	ssize_t size;
	int fd;

	memset(fields, 0, sizeof(*fields));
	fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	size = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[size > 0 ? size : 0] = '\0';
	/* The name in field 2 may hold anything, but no parenthesis comes after it. */
	c = strrchr(text, ')');
	for (int field = 3; c && field <= 22; field++) {
		c = strchr(c, ' ');
		if (!c)
			break;
		c++;
		if (field == 3)
			fields->state = *c;
		else if (field == 20)
			fields->nr_threads = read_number(c);
		else if (field == 22)
			fields->start_ticks = read_number(c);
	}
}

bool vs_session_is_deserted(void)
{
	struct stat_fields fields;

	read_stat(&fields);
	/* The first thread stays as a zombie until the last one has ended. */
	return fields.state == 'Z' && fields.nr_threads == 2u + vs_memory_info_is_running();
}

static void collect_facts(struct vs_live_log_facts *facts, const struct vs_session_plan *plan)
{
	uint64_t fallback[2] = {vs_clock_wall_ns(), (uint64_t)getpid()};
	struct vs_clock_instant now;
	struct stat_fields fields;
	struct stat namespace;

	read_stat(&fields);
	vs_clock_get_instant(&now);
	memset(facts, 0, sizeof(*facts));
	facts->trace_path = session.path;
	facts->first_size = FIRST_SIZE;
	facts->max_size = plan->settings->log_size;
	facts->start_ticks = fields.start_ticks;
	facts->clock = vs_clock_is_tsc ? VS_LIVE_CLOCK_TSC : VS_LIVE_CLOCK_MONOTONIC;
	facts->start = vs_clock_anchor(&plan->start, &plan->start);
	facts->now = vs_clock_anchor(&now, &plan->start);
	if (stat("/proc/self/ns/pid", &namespace) == 0)
		facts->pid_namespace = namespace.st_ino;
	if (getrandom(facts->identity, sizeof(facts->identity), GRND_NONBLOCK) !=
	    sizeof(facts->identity))
		memcpy(facts->identity, fallback, sizeof(fallback));
}

static void name_shm_log(const struct vs_live_log_facts *facts)
{
	char identity[33];
	struct vs_compose text;

	vs_info_put_identity(identity, facts->identity);
	vs_compose_init(&text, session.log_path, sizeof(session.log_path));
	vs_compose_add(&text, SHM_FOLDER "/vramscope-");
	vs_compose_add(&text, identity);
	vs_compose_add(&text, VS_LIVE_SUFFIX);
}

/* Beside the trace, or in memory where the trace's file system cannot promise pages. */
static int make_log(const struct vs_live_log_facts *facts, bool *is_elsewhere)
{
	struct vs_compose text;
	int err;

	vs_compose_init(&text, session.log_path, sizeof(session.log_path));
	vs_compose_add(&text, session.path);
	vs_compose_add(&text, VS_LIVE_SUFFIX);
	*is_elsewhere = false;
	if (!text.is_cut) {
		err = vs_live_log_create(&session.log, session.log_path, facts);
		if (!err)
			return 0;
	}
	*is_elsewhere = true;
	name_shm_log(facts);
	return vs_live_log_create(&session.log, session.log_path, facts);
}

static int add_number(const char *key, uint64_t number)
{
	char digits[24];
	struct vs_compose text;

	vs_compose_init(&text, digits, sizeof(digits));
	vs_compose_add_number(&text, number);
	return vs_writer_add_info(session.writer, key, digits);
}

static int add_kept_variables(const struct vs_settings *settings)
{
	char key[64];
	struct vs_compose text;
	int err = 0;

	for (int i = 0; i < VS_SETTINGS_NR_KEPT && settings->kept[i].name && !err; i++) {
		vs_compose_init(&text, key, sizeof(key));
		vs_compose_add(&text, VS_INFO_ENV_PREFIX);
		vs_compose_add(&text, settings->kept[i].name);
		err = vs_writer_add_info(session.writer, key, settings->kept[i].value);
	}
	return err;
}

static int write_info(const struct vs_session_plan *plan, const struct vs_live_log_facts *facts,
		      bool is_elsewhere)
{
	const struct vs_settings *settings = plan->settings;
	char identity[33];
	struct {
		const char *key;
		const char *value;
	} texts[] = {
		{VS_INFO_VERSION, VS_VERSION},
		{VS_INFO_IDENTITY, identity},
		{VS_INFO_COMMAND, settings->command},
		{VS_INFO_EXE, plan->exe},
		{VS_INFO_CWD, settings->cwd},
		{VS_INFO_HOST, settings->host},
		{VS_INFO_RANK, settings->rank},
		{VS_INFO_CLOCK, vs_clock_name()},
		{VS_INFO_LIVE, is_elsewhere ? session.log_path : NULL},
	};
	int err = 0;

	vs_info_put_identity(identity, facts->identity);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]) && !err; i++)
		if (texts[i].value)
			err = vs_writer_add_info(session.writer, texts[i].key, texts[i].value);
	err = err ? err : add_number(VS_INFO_PID, (uint64_t)getpid());
	err = err ? err : add_number(VS_INFO_PPID, (uint64_t)getppid());
	err = err ? err : add_number(VS_INFO_UID, getuid());
	err = err ? err : add_number(VS_INFO_START, plan->start_wall_ns);
	err = err ? err : add_number(VS_INFO_PAGE_SIZE, (uint64_t)sysconf(_SC_PAGESIZE));
	if (settings->max_size)
		err = err ? err : add_number(VS_INFO_MAX_SIZE, settings->max_size);
	err = err ? err : add_kept_variables(settings);
	return err ? err : vs_writer_flush(session.writer);
}

/* Here and to who started us: without a trace it would look as if there had been nothing to record.
 */
static void say_cannot(const struct vs_session_plan *plan, const char *what, const char *path,
		       int error)
{
	vs_message_post("nothing is recorded: ", what, " ", path, ": ", error_text(error), NULL);
	vs_output_add_refused(plan->settings, session.path);
}

/* Header and INFO, so that the log is believed from its first record on. */
static int write_head(const struct vs_session_plan *plan, const struct vs_live_log_facts *facts,
		      bool is_elsewhere, int fd)
{
	int err;

	err = vs_writer_create(&session.writer, fd, NULL);
	if (err)
		return err;
	err = write_info(plan, facts, is_elsewhere);
	vs_writer_abandon(session.writer);
	session.writer = NULL;
	return err;
}

static void remember_file(int fd)
{
	struct stat file;

	if (fstat(fd, &file) == 0) {
		session.device = file.st_dev;
		session.inode = file.st_ino;
	}
}

int vs_session_open(const struct vs_session_plan *plan)
{
	struct vs_live_log_facts facts;
	bool is_elsewhere;
	int fd, err, saved;

	memset(&session, 0, offsetof(struct session, path));
	session.fd = -1;
	session.is_bare = plan->is_bare;
	session.max_size = plan->settings->max_size;
	session.next_node = 1;
	session.start = plan->start;
	err = vs_output_open(plan->settings, session.path, &fd);
	if (err) {
		say_cannot(plan, "cannot make the trace", session.path, errno);
		return err;
	}
	remember_file(fd);
	vs_clock_init();
	collect_facts(&facts, plan);
	err = make_log(&facts, &is_elsewhere);
	if (err) {
		saved = errno;
		say_cannot(plan, "cannot make the log", session.log_path, saved);
		close(fd);
		goto remove_trace;
	}
	err = write_head(plan, &facts, is_elsewhere, fd);
	if (err) {
		say_cannot(plan, "cannot write the trace", session.path, errno);
		goto remove_log;
	}
	session.flushed_ns = vs_clock_now_ns();
	session.is_open = true;
	vs_output_add_to_index(plan->settings, session.path);
	return 0;
remove_log:
	unlink(session.log_path);
	vs_live_log_detach(&session.log);
remove_trace:
	unlink(session.path);
	return err;
}

struct vs_live_log *vs_session_log(void)
{
	return &session.log;
}

bool vs_session_make_room(void)
{
	return vs_live_log_grow(&session.log, session.log_path);
}

/* ---- The file, in the thread that writes it -------------------------------------------------- */

static void give_up(const char *why)
{
	vs_message_post("the trace ", session.path, " ", why, "; its log keeps what fits", NULL);
	session.is_given_up = true;
}

/* Somebody wants the trace gone: then its log is of no use, and takes no more room. */
static void stop(void)
{
	vs_message_post("the trace ", session.path, " was removed: nothing is recorded any more",
			NULL);
	vs_live_log_unlink(&session.log, session.log_path);
	session.is_given_up = true;
}

/* Opens the trace where it ends, if it is still the file that we made (else ENOENT). */
static int open_trace(void)
{
	struct stat file;
	int fd = open(session.path, O_WRONLY | O_CLOEXEC);
	int high;

	if (fd < 0)
		return fd;
	if (fstat(fd, &file) < 0 || file.st_dev != session.device || file.st_ino != session.inode ||
	    lseek(fd, 0, SEEK_END) < 0) {
		close(fd);
		errno = ENOENT;
		return -1;
	}
	if (session.has_own_files)
		return fd;
	high = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD);
	if (high >= 0) {
		close(fd);
		fd = high;
	}
	return fd;
}

/* Of a trace that has a greatest size. Without memory for that it goes on without. */
static void set_limit(void)
{
	if (session.limit || !session.max_size)
		return;
	if (vs_size_limit_create(&session.limit, session.max_size)) {
		session.limit = NULL;
		session.max_size = 0;
		vs_message_post("no memory to keep the trace ", session.path, " small", NULL);
	}
}

bool vs_session_attach(bool has_own_files)
{
	int fd;

	session.has_own_files = has_own_files;
	if (!session.merge && vs_merge_create(&session.merge, &session.log)) {
		give_up("cannot be written (no memory)");
		return false;
	}
	set_limit();
	fd = open_trace();
	if (fd < 0 && errno == ENOENT) {
		stop();
		return false;
	}
	if (fd < 0) {
		give_up("cannot be opened again");
		return false;
	}
	session.fd = fd;
	if (vs_writer_resume(&session.writer, fd,
			     session.is_bare ? NULL : vs_private_library_zlib(), session.nr_events,
			     session.next_node)) {
		session.writer = NULL;
		give_up("cannot be written (no memory)");
		return false;
	}
	return true;
}

/* Whether the descriptor is still the trace. */
static bool has_descriptor(struct stat *file)
{
	return fstat(session.fd, file) == 0 && file->st_dev == session.device &&
	       file->st_ino == session.inode;
}

/* Whether the descriptor and the file are still there. */
static bool is_still_ours(void)
{
	struct stat file;

	if (!has_descriptor(&file)) {
		session.writer = NULL; /* not closed: the descriptor is the program's now */
		give_up("was closed by the program");
		return false;
	}
	if (file.st_nlink == 0) {
		vs_writer_abandon(session.writer); /* which frees the disk */
		session.writer = NULL;
		stop();
		return false;
	}
	return true;
}

/* ---- From the log into the trace ------------------------------------------------------------- */

/* The file under the trace's name is ours: not removed, nor replaced by somebody. */
static bool has_name(void)
{
	struct stat file;

	return lstat(session.path, &file) == 0 && file.st_dev == session.device &&
	       file.st_ino == session.inode;
}

/* After a flush: sees that the trace does not become too large. */
static void keep_small(void)
{
	uint64_t nr_dropped;
	int fd = -1;

	if (!session.limit || !has_name())
		return;
	nr_dropped =
		vs_size_limit_keep(session.limit, session.writer, session.merge, session.path, &fd);
	if (fd < 0)
		return;
	session.nr_events -= nr_dropped;
	session.fd = fd;
	remember_file(fd);
}

static void note_failure(uint64_t now)
{
	if (!session.has_told)
		vs_message_post("the trace ", session.path, " cannot be written (",
				error_text(errno),
				"); its log keeps what fits, the rest is counted", NULL);
	session.has_told = true;
	session.failed_ns = now;
}

/* Writes out what the writer has; then the log may forget it. False: not now. */
static bool flush(void)
{
	uint64_t now = vs_clock_now_ns();

	if (session.failed_ns && now - session.failed_ns < RETRY_NS)
		return false;
	if (vs_writer_flush(session.writer)) {
		note_failure(now);
		return false;
	}
	session.failed_ns = 0;
	session.flushed_ns = now;
	session.nr_events += session.nr_pending;
	session.nr_pending = 0;
	vs_merge_release(session.merge);
	keep_small();
	return true;
}

/* Ahead of need: threads must not have to do it. */
static void keep_room(void)
{
	if (vs_live_log_get_nr_free(&session.log) <= vs_live_log_get_nr_chunks(&session.log) / 2)
		(void)vs_session_make_room();
	vs_live_log_populate(&session.log, session.log_path);
}

/*
 * A block is full. Once the program ends, the thread that waits for us packs it while we go on; the
 * log keeps everything until the last one is written, and needs no more room. False: not now.
 */
static bool flush_full(void)
{
	static const struct vs_writer_help help = {vs_exit_help_give, vs_exit_help_await};

	if (session.limit || !vs_exit_help_is_there()) {
		keep_room();
		return flush();
	}
	if (!vs_writer_flush_aside(session.writer, &help))
		return true;
	note_failure(vs_clock_now_ns());
	return false;
}

/* Small blocks compress badly, but a log that fills cannot wait for more. */
static bool is_time_to_flush(void)
{
	return vs_writer_get_nr_pending(session.writer) &&
	       (vs_live_log_get_nr_free(&session.log) <=
			vs_live_log_get_nr_chunks(&session.log) / 2 ||
		atomic_load_explicit(&session.log.nr_closed, memory_order_relaxed) >=
			VS_RING_NR_CLOSED ||
		vs_clock_now_ns() - session.flushed_ns >= FLUSH_NS);
}

static void set_anchor(void)
{
	struct vs_clock_instant now;
	struct vs_live_anchor anchor;

	vs_clock_get_instant(&now);
	anchor = vs_clock_anchor(&now, &session.start);
	vs_live_log_set_anchor(&session.log, &anchor);
}

static void note_sizes(const struct vs_record *records, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		if (vs_record_is_event(records[i].type))
			vs_size_limit_add(session.limit, &records[i]);
}

/*
 * The next records, at most max, of as many rings as it takes: threads that record by turns have
 * one or two in a row, and the more are encoded together, the less each of them takes. To the first
 * definition, whose text is gone with the next record. 0: there are no more.
 */
static uint32_t take_some(struct vs_record *records, uint32_t max)
{
	struct vs_merge_run run;
	uint32_t nr = 0;

	while (nr < max && vs_merge_next_run(session.merge, records + nr, max - nr, &run)) {
		nr += run.nr;
		vs_writer_cover(session.writer, run.ring, run.sequence, run.nr);
		if (!vs_record_is_event(records[nr - 1].type) || vs_writer_is_full(session.writer))
			break;
	}
	return nr;
}

/* All records whose order is certain by now. False: the writer takes no more. */
static bool take_published(uint64_t now_ns)
{
	struct vs_record records[NR_AT_ONCE];
	uint32_t room, nr;

	set_anchor();
	vs_merge_look(session.merge, now_ns);
	for (;;) {
		/* Before the next ones are taken: what is taken and not added is lost. */
		room = vs_writer_get_room(session.writer);
		if (!room) {
			if (!flush_full())
				return false;
			continue;
		}
		nr = take_some(records, room < NR_AT_ONCE ? room : NR_AT_ONCE);
		if (!nr)
			return true;
		session.nr_pending += vs_writer_add_some(session.writer, records, nr);
		if (session.limit)
			note_sizes(records, nr);
	}
}

bool vs_session_take(void)
{
	if (session.is_given_up || !session.writer || !is_still_ours())
		return false;
	keep_room();
	if (take_published(vs_clock_now_ns()) && is_time_to_flush())
		(void)flush();
	/* Threads that have ended since the last flush. */
	if (session.writer && !vs_writer_get_nr_pending(session.writer))
		vs_merge_release(session.merge);
	return true;
}

void vs_session_park(void)
{
	if (!vs_session_take())
		return;
	session.failed_ns = 0; /* the last chance of this thread */
	if (!flush() && session.failed_ns)
		return;
	session.next_node = vs_writer_get_next_node(session.writer);
	vs_writer_abandon(session.writer);
	session.writer = NULL;
}

/* Whether all there is was handed to the writer; waits a little for threads that are late. */
static bool take_rest(void)
{
	uint64_t start_ns = vs_clock_now_ns(), now_ns;

	for (now_ns = start_ns; now_ns - start_ns < LAST_CHANCE_NS; now_ns = vs_clock_now_ns()) {
		if (!is_still_ours() || !take_published(now_ns))
			return false;
		if (vs_merge_is_empty(session.merge))
			return true;
		sched_yield();
	}
	return false;
}

void vs_session_finish(void)
{
	if (!session.is_open || session.is_given_up)
		return;
	if (!session.writer && !vs_session_attach(false))
		return;
	session.failed_ns = 0;
	if (take_rest() && flush()) {
		if (vs_writer_close(session.writer, vs_live_log_get_lost(&session.log)) == 0)
			unlink(session.log_path);
	} else if (session.writer) {
		/* What could be ordered is in the trace, the rest is in the log. */
		if (vs_writer_get_nr_pending(session.writer))
			(void)flush();
		vs_writer_abandon(session.writer);
	}
	session.writer = NULL;
	session.is_open = false;
}

void vs_session_detach(void)
{
	struct stat file;

	vs_live_log_detach(&session.log);
	/* Where descriptors are shared the child has a copy, unless the program closed it. */
	if (session.writer && !session.has_own_files && has_descriptor(&file))
		close(session.fd);
	/* Copies of what the parent's drain may have been in the middle of: not looked at. */
	session.writer = NULL;
	session.merge = NULL;
	session.limit = NULL;
	session.is_open = false;
	session.fd = -1;
}
