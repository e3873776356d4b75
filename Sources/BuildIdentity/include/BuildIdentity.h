#ifndef BUILD_IDENTITY_H
#define BUILD_IDENTITY_H

// Returns the commit that the program was built from: hexadecimal digits, with "-dirty" behind them if tracked files had
// changed. Returns an empty text if the build was not told, as in debug builds.
//
// Package.swift passes the commit on from the variable ISLET_COMMIT. C takes a text from the command line, which Swift
// does not.
const char *_Nonnull build_identity_commit(void);

#endif
