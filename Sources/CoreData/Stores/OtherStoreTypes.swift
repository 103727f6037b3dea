// The names of store types that are recognized but never opened, since they are not encrypted.

/// The type of XML stores, which are not supported: opening one fails with an error that says so.
///
/// It is deprecated instead of unavailable because sources use it to distinguish store types.
@available(*, deprecated, message: "there are no XML stores, since everything that is written is encrypted; use NSSQLiteStoreType")
public var NSXMLStoreType: String { "XML" }
