#include "analysis/rules.h"

const char *const severity_names[SEVERITIES] = { "none", "low", "medium", "high", "critical" };
