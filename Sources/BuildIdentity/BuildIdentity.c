#include "BuildIdentity.h"

// The commit is passed without quotes, because they would have to survive every layer of the build.
#define TEXT(value) #value
#define TEXT_OF(macro) TEXT(macro)

const char *build_identity_commit(void) {
#ifdef ISLET_COMMIT
    return TEXT_OF(ISLET_COMMIT);
#else
    return "";
#endif
}
