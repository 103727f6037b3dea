/// The reason why a Core Data store cannot be imported. It contains names of entities and properties and keys, but never a stored value.
public struct CoreDataImportError: Error, Sendable, CustomStringConvertible {
  /// The kind of an error.
  public enum Code: Sendable, Hashable, CaseIterable {
    /// The file is neither a SQLite store of Core Data nor one of the encrypted Core Data store.
    case notRecognized
    /// The store was not written with the model: entities, tables or columns are missing, or are not in the model.
    case modelMismatch
    /// Several properties of subentities have the same name, and the store does not determine which column belongs to which.
    case ambiguousColumns
    /// A value does not have its attribute's type, or is not valid text.
    case invalidValue
    /// The key or entity number of a row is invalid.
    case invalidKey
    /// The external file of a value is missing.
    case missingFile
    /// A relationship refers to an object that is not in the store.
    case danglingReference
    /// The target store has a different model.
    case differingModel
    /// After the import, the number of objects in the target store differs from the number of objects read.
    case countMismatch
  }

  /// The kind of the error.
  public var code: Code
  /// A description of the error and its fix.
  public var message: String
  /// The path of the source.
  public var path: String?
  /// The name of the entity.
  public var entityName: String?
  /// The name of the property.
  public var propertyName: String?
  /// The primary key (`Z_PK`) of the row.
  public var key: Int64?
  /// All findings, for ``Code/modelMismatch``.
  public var findings: [String] = []

  /// A message that contains the error and its location.
  public var description: String {
    var place = [entityName, propertyName].compactMap { $0 }.joined(separator: ".")
    if let key { place += "\(place.isEmpty ? "row" : ", row") \(key)" }
    var text = place.isEmpty ? message : "\(place): \(message)"
    if !findings.isEmpty { text += " " + findings.joined(separator: "; ") + "." }
    if let path { text += " (\(path))" }
    return text
  }
}
