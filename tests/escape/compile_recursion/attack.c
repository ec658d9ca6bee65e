#if __INCLUDE_LEVEL__ < 60
#include __FILE__
#include __FILE__
#endif
