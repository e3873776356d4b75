// There is nothing to call. Linking it is enough.
