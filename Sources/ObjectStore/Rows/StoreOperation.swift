/// The operation during which a ``StoreError`` was thrown: its name, such as “save”, “batch insert”, or “read the key file”.
///
/// ```swift
/// do { try context.save() } catch let error as StoreError {
///   print("\(error.operation?.rawValue ?? "request") failed: \(error)")
/// }
/// ```
///
/// Names are stable and never contain values, but later versions may add some. Stores outside of the library can use names of their own:
/// `StoreError(.io, "…", operation: "upload")`.
public struct StoreOperation: RawRepresentable, Sendable, Hashable, ExpressibleByStringLiteral {
  /// The name.
  public let rawValue: String

  /// Creates an operation with a name.
  public init(rawValue: String) { self.rawValue = rawValue }

  /// Creates an operation with a name.
  public init(stringLiteral name: String) { rawValue = name }
}

extension StoreOperation {
  // Stores and their files.
  /// The operation “open”.
  public static let open: Self = "open"
  /// The operation “create”.
  public static let create: Self = "create"
  package static let close: Self = "close"
  package static let unlock: Self = "unlock"
  package static let readKeyFile: Self = "read the key file"
  package static let writeKeyFile: Self = "write the key file"
  package static let changeKeys: Self = "change keys"
  package static let rotateDataKey: Self = "rotate the data key"
  package static let encrypt: Self = "encrypt or decrypt"
  package static let copyStore: Self = "copy the store"
  package static let compact: Self = "compact"
  package static let backUp: Self = "back up"
  package static let `import`: Self = "import"
  package static let export: Self = "export"
  package static let replace: Self = "replace"
  package static let destroy: Self = "destroy"
  package static let verify: Self = "verify"
  package static let lock: Self = "lock"
  /// The operation “read”.
  public static let read: Self = "read"
  package static let write: Self = "write"
  package static let watch: Self = "watch"
  package static let execute: Self = "execute"

  // Metadata and models.
  package static let readMetadata: Self = "read the metadata"
  package static let setMetadata: Self = "set metadata"
  package static let readModel: Self = "read the model"
  package static let migrate: Self = "migrate"
  package static let planMigration: Self = "plan a migration"

  // Requests.
  /// The operation “fetch”.
  public static let fetch: Self = "fetch"
  /// The operation “save”.
  public static let save: Self = "save"
  package static let transaction: Self = "transaction"
  package static let observe: Self = "observe transactions"
  /// The operation “batch request”.
  public static let batchRequest: Self = "batch request"
  package static let batchInsert: Self = "batch insert"
  package static let batchUpdate: Self = "batch update"
  package static let batchDelete: Self = "batch delete"
  package static let obtainPermanentIDs: Self = "obtain permanent IDs"
  package static let readHistory: Self = "read the history"
  package static let deleteHistory: Self = "delete from the history"
  package static let changeHistoryConsumer: Self = "change a consumer of the history"
  package static let switchHistory: Self = "switch the history"
  package static let pin: Self = "pin a query generation"

  // Objects.
  package static let insert: Self = "insert"
  package static let delete: Self = "delete"
  package static let assign: Self = "assign"
  package static let setValue: Self = "set value"
  package static let setRelationship: Self = "set relationship"
  package static let findObject: Self = "find object"
  package static let findOrCreate: Self = "find or create"
  package static let fault: Self = "fault"

  // Large values.
  package static let readFile: Self = "read a file"
  package static let readLargeValue: Self = "read a large value"
  package static let writeLargeValue: Self = "write a large value"
}
