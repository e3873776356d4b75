#if !Server
    #error("this needs the package trait Server: swift build --traits Server (docs/packages.md)")
#endif
