#if !PostgreSQL
    #error("this needs the package trait PostgreSQL: swift build --traits PostgreSQL (docs/packages.md)")
#endif
