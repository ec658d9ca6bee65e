"""The library: the example is built and runs; a program that uses threads, events and cancellation does too.

SANDBOX_LIB_FLAGS gives the flags to compile against a library built elsewhere.
"""

import os
import shlex
import shutil
import subprocess

import pytest

from helpers.program import REPOSITORY, helper_path, program_path

TEN_LINES = r"""
#include <sandbox.h>
#include <stdio.h>
int main(int argc, char **argv)
{
        sbx_engine_options options = { .size = sizeof(options), .init_path = argc > 1 ? argv[1] : NULL };
        sbx_error *err = NULL;
        sbx_engine *engine = sbx_engine_new(&options, &err);
        sbx_request *req = sbx_request_new("python", "print(6 * 7)");
        sbx_result *res = engine ? sbx_run(engine, req, &err) : NULL;
        if (!res) {
                fprintf(stderr, "%s\n", sbx_error_message(err));
                return 1;
        }
        fputs(sbx_result_stdout(res, NULL), stdout);
        printf("%s %d\n", sbx_result_status(res), sbx_result_enforced(res, "seccomp", NULL));
        sbx_result_free(res);
        sbx_request_free(req);
        sbx_engine_free(engine);
        return 0;
}
"""
THREADS = r"""
#include <pthread.h>
#include <sandbox.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static sbx_engine *engine;
static int events;
static void on_event(const sbx_event *event, void *userdata) { __atomic_add_fetch(&events, 1, __ATOMIC_RELAXED); }
static void *run_one(void *number)
{
        char code[64], expected[32];
        snprintf(code, sizeof(code), "echo %ld", (long)number);
        snprintf(expected, sizeof(expected), "%ld\n", (long)number);
        sbx_request *req = sbx_request_new("shell", code);
        sbx_request_set_event_handler(req, on_event, NULL, NULL);
        sbx_result *res = sbx_run(engine, req, NULL);
        long ok = res && strcmp(sbx_result_stdout(res, NULL), expected) == 0;
        sbx_result_free(res);
        sbx_request_free(req);
        return (void *)ok;
}
int main(int argc, char **argv)
{
        sbx_engine_options options = { .size = sizeof(options), .init_path = argc > 1 ? argv[1] : NULL };
        struct sigaction before[32], after;
        pthread_t threads[16];
        long good = 0;
        void *ok;
        for (int i = 1; i < 32; i++)
                sigaction(i, NULL, &before[i]);
        engine = sbx_engine_new(&options, NULL);
        for (long i = 0; i < 16; i++)
                pthread_create(&threads[i], NULL, run_one, (void *)i);
        for (int i = 0; i < 16; i++) {
                pthread_join(threads[i], &ok);
                good += (long)ok;
        }
        sbx_request *req = sbx_request_new("shell", "sleep 60");
        sbx_execution *execution = sbx_start(engine, req, NULL);
        sbx_cancel(execution);
        sbx_result *res = sbx_wait(execution, NULL);
        int same = 1;
        for (int i = 1; i < 32; i++) {
                sigaction(i, NULL, &after);
                same &= after.sa_handler == before[i].sa_handler;
        }
        printf("%ld %d %s %d\n", good, events >= 32, res ? sbx_result_status(res) : "none", same);
        sbx_result_free(res);
        sbx_request_free(req);
        sbx_engine_free(engine);
        return 0;
}
"""

TURNS = r"""
#include <pthread.h>
#include <sandbox.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int answers, over;
static void on_event(const sbx_event *event, void *userdata)
{
        pthread_mutex_lock(&lock);
        for (size_t i = 0; strcmp(event->kind, "stdout") == 0 && i < event->length; i++)
                answers += ((const char *)event->data)[i] == '.';
        over |= strcmp(event->kind, "execution.complete") == 0;
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&lock);
}
int main(int argc, char **argv)
{
        sbx_engine_options options = { .size = sizeof(options), .init_path = argc > 1 ? argv[1] : NULL };
        sbx_engine *engine = sbx_engine_new(&options, NULL);
        sbx_request *req = sbx_request_new("shell", "while read -r line; do eval \"$line\"; printf .; done");
        sbx_execution *execution;
        sbx_result *res;
        int ends[2], finished = 0;

        if (pipe(ends) < 0 || sbx_request_set(req, "limits.timeout", "3s", NULL) < 0 ||
            sbx_request_set_stdin_fd(req, ends[0], NULL) < 0 || sbx_request_set_turns(req, NULL) < 0 ||
            sbx_request_set_event_handler(req, on_event, NULL, NULL) < 0)
                return 1;
        execution = sbx_start(engine, req, NULL);
        for (int turn = 0; turn < 5; turn++) {
                const char *task = turn < 3 ? "sleep 1.1\n" : "sleep 60\n";

                sbx_turn_begin(req, turn < 3 ? 0 : 200, NULL);
                if (write(ends[1], task, strlen(task)) < 0)
                        return 1;
                pthread_mutex_lock(&lock);
                while (answers == turn && !over)
                        pthread_cond_wait(&changed, &lock);
                finished += answers > turn;
                pthread_mutex_unlock(&lock);
                if (over)
                        break;
                sbx_turn_end(req, NULL);
        }
        res = sbx_wait(execution, NULL);
        printf("%d %s\n", finished, res ? sbx_result_status(res) : "none");
        sbx_result_free(res);
        sbx_request_free(req);
        sbx_engine_free(engine);
        return 0;
}
"""


def build_root():
    """The build folder of the program under test."""
    return next((path for path in program_path().parents if (path / "build.ninja").exists()), REPOSITORY / "build")


def as_user(sandbox):
    """What subprocess needs to run something as the sandbox fixture's user."""
    return {"user": sandbox.uid, "group": sandbox.uid, "extra_groups": []} if sandbox.changes_user else {}


def flags():
    given = os.environ.get("SANDBOX_LIB_FLAGS")
    if given:
        return shlex.split(given)
    library = next(iter(sorted(build_root().rglob("libsandbox.so"))), None)
    if library is None:
        pytest.fail("no libsandbox.so in the build folder; set SANDBOX_LIB_FLAGS")
    return [f"-I{REPOSITORY}/include", f"-L{library.parent}", f"-Wl,-rpath,{library.parent}", "-lsandbox"]


def compile_and_run(sandbox, place, text, expected_seconds=60):
    program = place / "program"
    source = place / "program.c"
    source.write_text(text)
    subprocess.run(["gcc", "-Wall", "-Werror", "-o", program, source, *flags(), "-pthread"], check=True)
    helper = sandbox.path.with_name("sandbox-init")
    helper = helper if helper.exists() else helper_path()
    return subprocess.run([program, *([str(helper)] if helper else [])], capture_output=True, text=True,
                          env=sandbox.environment(), cwd=place, timeout=expected_seconds, **as_user(sandbox))


def test_the_ten_line_program_runs(sandbox, place, no_leftovers):
    done = compile_and_run(sandbox, place, TEN_LINES)
    assert (done.stdout, done.returncode) == ("42\nok 1\n", 0), done


@pytest.mark.parametrize("closed", ["close(0);", "close(2);", "close(0); close(2);"])
def test_a_caller_without_standard_streams_can_run(sandbox, place, no_leftovers, closed):
    """As daemons are: what we open must not stand in their place."""
    before = TEN_LINES.replace("sbx_error *err", closed + " sbx_error *err", 1)
    after = TEN_LINES.replace("sbx_result *res", closed + " sbx_result *res", 1)
    for text in (before, after):
        done = compile_and_run(sandbox, place, "#include <unistd.h>\n" + text)
        assert (done.stdout, done.returncode) == ("42\nok 1\n", 0), done


def test_threads_events_and_cancellation_work_and_no_handler_is_installed(sandbox, place, no_leftovers):
    done = compile_and_run(sandbox, place, THREADS)
    assert done.stdout == "16 1 cancelled 1\n", done


def test_the_time_of_a_program_with_turns_is_counted_for_each_of_them(sandbox, place, no_leftovers):
    done = compile_and_run(sandbox, place, TURNS)
    assert done.stdout == "3 timeout\n", done


def test_the_header_is_good_c_plus_plus(tmp_path):
    source = tmp_path / "header.cc"
    source.write_text("#include <sandbox.h>\nint main() { return 0; }\n")
    subprocess.run(["g++", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{REPOSITORY}/include", source], check=True)


def test_only_the_public_names_are_exported():
    library = next(iter(sorted(build_root().rglob("libsandbox.so"))), None)
    if library is None:
        pytest.fail("no libsandbox.so in the build folder")
    lines = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    names = [line.split()[-1] for line in lines.splitlines()]
    assert names and all(name.startswith(("sbx_", "SANDBOX_", "LIBSANDBOX_")) for name in names), names


def test_the_library_holds_no_signal_handler_and_no_print():
    library = next(iter(sorted(build_root().rglob("libsandbox.so"))), None)
    lines = subprocess.run(["nm", "-D", "--undefined-only", library], capture_output=True, text=True, check=True).stdout
    wanted = {line.split()[-1].split("@")[0] for line in lines.splitlines()}
    assert not wanted & {"signal", "puts", "printf", "perror", "exit", "abort_handler_s"}, wanted


@pytest.mark.parametrize("name", sorted(path.stem for path in (REPOSITORY / "examples").glob("*.c")) or ["none"])
def test_the_example_runs(sandbox, place, name):
    built = next((path for path in build_root().rglob(f"example-{name}") if path.is_file() and os.access(path, os.X_OK)), None)
    assert built, f"the example {name} is not built"
    shutil.copy(built, place / name)
    shutil.copy(helper_path(), place / "sandbox-init")  # Where a program looks first: beside itself.
    library = next(path.parent for path in build_root().rglob("libsandbox.so"))
    done = subprocess.run([place / name], capture_output=True, text=True, cwd=place, timeout=60, **as_user(sandbox),
                          env=sandbox.environment({"LD_LIBRARY_PATH": str(library)}))
    assert done.returncode == 0 and done.stdout.startswith("42\n"), done


USAGE = r"""
#include <sandbox.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static void hear(const sbx_event *event, void *names) { strcat(names, event->kind); strcat(names, " "); }
int main(int argc, char **argv)
{
        sbx_error *err = NULL;
        char names[4096] = "";
        sbx_engine_options options = { .size = sizeof(options), .init_path = argc > 1 ? argv[1] : NULL };
        sbx_engine *engine = sbx_engine_new(&options, &err);
        sbx_request *req = sbx_request_new("python", "import time\nb = b'x' * (60 << 20)\ntime.sleep(20)");
        sbx_usage_sample usage = { .size = sizeof(usage) }, small = { .size = 1 };
        sbx_execution *execution;
        sbx_request_set_log_handler(req, hear, names, &err);
        execution = sbx_start(engine, req, &err);
        for (int i = 0; i < 1000 && usage.memory < 60 << 20; i++) {
                if (sbx_usage(execution, &usage, &err) < 0) return 1;
                usleep(10000);
        }
        printf("%d %d %d %d ", usage.memory >= 60 << 20, usage.processes >= 1, usage.time > 0,
               sbx_usage(execution, &small, NULL) < 0);
        sbx_cancel(execution);
        sbx_result *result = sbx_wait(execution, &err);
        printf("%s %s\n", sbx_result_status(result), names);
        sbx_result_free(result);
        sbx_request_free(req);
        sbx_engine_free(engine);
}
"""


WAITS = r"""
#include <sandbox.h>
#include <signal.h>
#include <stdio.h>
static volatile sig_atomic_t signals;
static void on_alarm(int number) { signals = signals + 1; }
static void waits(void *req) { if (signals) sbx_request_cancel(req); else raise(SIGALRM); }
int main(int argc, char **argv)
{
        sbx_error *err = NULL;
        sbx_engine_options options = { .size = sizeof(options), .init_path = argc > 1 ? argv[1] : NULL };
        sbx_engine *engine = sbx_engine_new(&options, &err);
        sbx_request *req = sbx_request_new("python", "import time\ntime.sleep(60)");
        struct sigaction action = { .sa_handler = on_alarm };
        sigaction(SIGALRM, &action, NULL);
        if (sbx_request_set_wait_handler(req, waits, req, &err) < 0 ||
            sbx_request_set_wait_handler(NULL, waits, req, NULL) == 0) return 1;
        sbx_result *result = sbx_run(engine, req, &err);
        printf("%s %d\n", sbx_result_status(result), signals == 1);
        sbx_result_free(result);
        sbx_request_free(req);
        sbx_engine_free(engine);
}
"""


QUEUED = r"""
#include <sandbox.h>
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv)
{
        sbx_error *err = NULL;
        sbx_engine_options options = { .size = sizeof(options), .init_path = argc > 1 ? argv[1] : NULL, .max_runs = 1 };
        sbx_engine *engine = sbx_engine_new(&options, &err);
        sbx_request *requests[] = { sbx_request_new("shell", "sleep 20"), sbx_request_new("shell", "echo ran") };
        sbx_execution *executions[2];
        sbx_usage_sample usage = { .size = sizeof(usage) };
        executions[0] = sbx_start(engine, requests[0], &err);
        while (usage.processes == 0 && sbx_usage(executions[0], &usage, &err) == 0) usleep(10000);
        executions[1] = sbx_start(engine, requests[1], &err);
        for (int i = 1; i >= 0; i--) {
                sbx_cancel(executions[i]);
                sbx_result *result = sbx_wait(executions[i], &err);
                printf("%s %d ", sbx_result_status(result), (int)sbx_result_stdout(result, NULL)[0]);
                sbx_result_free(result);
                sbx_request_free(requests[i]);
        }
        sbx_engine_free(engine);
}
"""


def test_one_who_waits_for_a_place_can_be_cancelled(sandbox, place, no_leftovers):
    """The one place is another's, which still has it when the one who waited has gone."""
    done = compile_and_run(sandbox, place, QUEUED)
    assert done.stdout == "cancelled 0 cancelled 0 ", done


def test_one_who_waits_is_asked_now_and_then_and_may_cancel(sandbox, place):
    done = compile_and_run(sandbox, place, WAITS)
    assert done.stdout == "cancelled 1\n", done


def test_usage_of_a_running_execution_can_be_asked_for(sandbox, place):
    done = compile_and_run(sandbox, place, USAGE)
    assert done.stdout.startswith("1 1 1 1 cancelled execution.start "), done
    assert "usage" not in done.stdout.split("cancelled", 1)[1]
