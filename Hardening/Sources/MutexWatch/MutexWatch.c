// Tells ThreadSanitizer about contended mutexes. On Linux a contended `Mutex` of Swift's Synchronization is locked and
// unlocked inside the library, which is not built with ThreadSanitizer. It would report a race for every value behind a
// mutex that two threads wanted at once. The two functions that lock and unlock are replaced by functions that notify
// ThreadSanitizer and then call the library's.
#if defined(__linux__) && defined(__has_feature)
#if __has_feature(thread_sanitizer)

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *handle
#define LOCK_SLOW "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK_SLOW "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

void __tsan_acquire(void *address);
void __tsan_release(void *address);

SWIFT void mutex_lock_slow(uint32_t thread, SELF) __asm__(LOCK_SLOW);
SWIFT void mutex_unlock_slow(SELF) __asm__(UNLOCK_SLOW);

SWIFT void mutex_lock_slow(uint32_t thread, SELF) {
    SWIFT void (*original)(uint32_t, SELF) = (SWIFT void (*)(uint32_t, SELF))dlsym(RTLD_NEXT, LOCK_SLOW);
    original(thread, handle);
    __tsan_acquire(handle);
}

SWIFT void mutex_unlock_slow(SELF) {
    SWIFT void (*original)(SELF) = (SWIFT void (*)(SELF))dlsym(RTLD_NEXT, UNLOCK_SLOW);
    __tsan_release(handle);
    original(handle);
}

#endif
#endif
