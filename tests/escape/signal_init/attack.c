#include "attack.h"

int main(void)
{
        static const int signals[] = { SIGTERM, SIGSTOP, SIGTSTP, SIGHUP, SIGINT, SIGSEGV, SIGUSR1, SIGCHLD, SIGALRM, SIGKILL };
        siginfo_t info = { .si_code = SI_QUEUE }; /* of sender 0: as if from outside */

        info.si_signo = SIGTERM;
        for (int i = 0; i < 20; i++) {
                syscall(SYS_rt_sigqueueinfo, 1, SIGTERM, &info);
                syscall(SYS_pidfd_send_signal, syscall(SYS_pidfd_open, 1, 0), SIGTERM, &info, 0);
                usleep(1000);
        }
        for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
                kill(1, signals[i]);
                kill(getppid(), signals[i]);
                syscall(SYS_tgkill, 1, 1, signals[i]);
                syscall(SYS_rt_sigqueueinfo, 1, signals[i], &info);
                syscall(SYS_pidfd_send_signal, syscall(SYS_pidfd_open, 1, 0), signals[i], NULL, 0);
        }
        kill(0, SIGCONT);
        usleep(100000);
        REFUSED_IF("init-lives", getppid() >= 0 && access("/proc/1/stat", F_OK) == 0);
        return 7;
}
