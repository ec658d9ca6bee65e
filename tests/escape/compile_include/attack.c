#include "@CANARY_TMP@"
#include "/etc/shadow"
#include "/proc/1/environ"
#include "/proc/self/environ"

int main(void)
{
        return 0;
}
