// CoreDataImportError: what a store of Core Data can have that cannot be taken over.

/// Why a store of another kind cannot be imported. It names entities, properties and keys, never a stored value.
public struct CoreDataImportError: Error, Sendable, CustomStringConvertible {
  /// The kind of an error.
  public enum Code: Sendable, Hashable, CaseIterable {
    /// The file is neither a SQLite store of Core Data nor one of the encrypted Core Data store.
    case notRecognized
    /// The store was not written with the model: entities, tables or columns are missing, or are there that the model does not know.
    case modelMismatch
    /// Several properties of subentities have one name, and the store does not tell which column is whose.
    case ambiguousColumns
    /// A value is not of its attribute's type, or is not text.
    case invalidValue
    /// A row's key or entity number cannot be one.
    case invalidKey
    /// A value lies in a file beside the store that is not there.
    case missingFile
    /// A relationship refers to an object that is not in the store.
    case danglingReference
    /// The store to be filled has another model.
    case differingModel
    /// After the import the store does not hold as many objects as were read.
    case countMismatch
  }

  /// The kind.
  public var code: Code
  /// What is wrong and what to do.
  public var message: String
  /// The path of the store that is read.
  public var path: String?
  /// The entity concerned.
  public var entityName: String?
  /// The property concerned.
  public var propertyName: String?
  /// The primary key (`Z_PK`) of the row concerned.
  public var key: Int64?
  /// Every single finding, for ``Code/modelMismatch``.
  public var findings: [String] = []

  /// What is wrong, in a sentence, and where.
  public var description: String {
    var place = [entityName, propertyName].compactMap { $0 }.joined(separator: ".")
    if let key { place += "\(place.isEmpty ? "row" : ", row") \(key)" }
    var text = place.isEmpty ? message : "\(place): \(message)"
    if !findings.isEmpty { text += " " + findings.joined(separator: "; ") + "." }
    if let path { text += " (\(path))" }
    return text
  }
}
