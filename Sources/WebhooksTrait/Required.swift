#if !Webhooks
    #error("this needs the package trait Webhooks or Server: swift build --traits Webhooks (docs/packages.md)")
#endif
