// UnifiedLogging: the names of the modules os and OSLog that write messages, over swift-log, for sources of applications on Apple's systems.
//
// The module does not have their names: packages that an application depends on ask `canImport(os)` to tell Apple's systems from others, and use locks and other parts
// of that module then.
