// OtherStoreTypes: the names of stores that are not encrypted, which are told apart and never opened.

/// The name of stores in XML files, of which there are none: what is opened by it fails with an error that says so.
///
/// It is a mere warning, since sources name it where they tell kinds of stores apart.
@available(*, deprecated, message: "there are no XML stores, since everything that is written is encrypted; use NSSQLiteStoreType")
public var NSXMLStoreType: String { "XML" }
