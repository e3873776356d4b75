#if !APNs
    #error("this needs the package trait APNs or Server: swift build --traits APNs (docs/packages.md)")
#endif
