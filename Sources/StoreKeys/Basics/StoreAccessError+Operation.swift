extension StoreAccessError {
  /// The operation that failed. The raw value is part of messages.
  package enum Operation: String, Sendable, Hashable, CaseIterable {
    // The store's files.
    case open
    case create
    case read
    case write
    case sync
    case lock
    case exclusiveAccess = "exclusive access"
    case copy
    case compact
    case replace
    case finishReplacement = "finish a replacement"
    case remove
    case destroy
    case backUp = "back up"
    case `import`
    case export
    case verify
    case preserveOwner = "keep the owner"
    case makeFolder = "make a folder"
    case readLog = "read the log"
    case readUnusedPages = "read the unused pages"
    case watch

    // Keys and the key file.
    case key
    case unlock
    case callKeyProvider = "ask the key provider"
    case deriveKey = "derive a key"
    case readKeyFile = "read the key file"
    case writeKeyFile = "write the key file"
    case lockKeyFile = "lock the key file"
    case changeKeys = "change keys"
    case addSlot = "add a slot"
    case makeSlot = "make a slot"
    case removeSlot = "remove a slot"
    case replaceKey = "replace a key"
    case rotateDataKey = "rotate the data key"
    case printRecoveryKey = "print a recovery key"
    case readRecoveryKey = "read a recovery key"

    // Encryption.
    case checkLibrary = "check the library"
    case encrypt = "encrypt or decrypt"

    // Statements.
    case prepare
    case bind = "bind a value"
    case step
    case execute
    case quote = "quote a name or text"
    case registerFunction = "register a function"
    case registerCollation = "register a collation"

    // Large values.
    case readValue = "read a value"
    case readLargeValue = "read a large value"
    case writeLargeValue = "write a large value"
  }

  /// The part of a connection or statement that an operation concerned.
  package enum Subject: Sendable, Hashable, CustomStringConvertible {
    /// The function or collation with a name.
    case name(String)
    /// The parameter of a statement, counted from 1.
    case parameter(Int)

    package var description: String {
      switch self {
      case .name(let name): name
      case .parameter(let number): "parameter \(number)"
      }
    }
  }
}
