public import Foundation
package import ObjectModel
import SQLCipherConnection

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

// MARK: - Messages

extension CoreDataImportError {
  /// The reason for an error: its kind and its message. The entity, property and key are separate.
  struct Reason {
    let code: Code
    let message: String

    init(_ code: Code, _ message: String) { (self.code, self.message) = (code, message) }
  }

  init(
    _ reason: Reason, path: String? = nil, entityName: String? = nil, propertyName: String? = nil, key: Int64? = nil,
    findings: [String] = []
  ) {
    (code, message, self.path) = (reason.code, reason.message, path)
    (self.entityName, self.propertyName, self.key, self.findings) = (entityName, propertyName, key, findings)
  }
}

extension CoreDataImportError.Reason {
  // The file.

  /// Core Data's other store types.
  enum Form: String {
    case xml = "an XML store of Core Data"
    case binary = "a binary store of Core Data"
  }

  static func otherForm(_ form: Form) -> Self {
    Self(
      .notRecognized,
      "The file looks like \(form.rawValue); only SQLite stores are read. Migrate it to a SQLite store with Core Data first.")
  }

  static var noTables: Self { Self(.notRecognized, "The database has no tables.") }

  static var plainCopy: Self {
    Self(
      .notRecognized, "The database is a plain copy of a CipherData store, which `cipherdata encrypt` converts back to a store.")
  }

  static func otherTables(_ names: [String]) -> Self {
    let others = names.count > 8 ? " and \(names.count - 8) more" : ""
    return Self(
      .notRecognized,
      "The database has neither Core Data's tables Z_PRIMARYKEY and Z_METADATA nor the encrypted Core Data store's meta and ecd…; it has "
        + "\(names.prefix(8).joined(separator: ", "))\(others).")
  }

  static func otherModel(versions: Set<String>) -> Self {
    let list = versions.sorted().map { "“\($0)”" }.joined(separator: ", ")
    return Self(
      .modelMismatch,
      "The store was not written with this model." + (versions.isEmpty ? "" : " It was written with the version \(list)."))
  }

  static func ambiguousColumn(_ column: String, table: String) -> Self {
    Self(
      .ambiguousColumns,
      "several subentities have a property with this name, and the column \(column) of \(table), which should belong to this one, has values "
        + "in rows of others. Give the properties different names with Core Data, and import that store.")
  }

  // The target store.

  static func differingModel(entities: [String]) -> Self {
    Self(
      .differingModel,
      "The destination store has another model; these entities differ: \(entities.joined(separator: ", ")). Import into a store of the old model, "
        + "then migrate that store.")
  }

  static func miscounted(counted: Int, read: Int, written: Int) -> Self {
    Self(.countMismatch, "\(counted) objects were counted, \(read) read and \(written) written. Nothing was imported.")
  }

  // Rows and links.

  static var destinationNotHeld: Self { Self(.modelMismatch, "the relationship leads to an entity that the store does not hold.") }

  static var danglingReference: Self {
    Self(.danglingReference, "the relationship refers to an object that is not in the store, or of another entity.")
  }

  static var danglingLink: Self {
    Self(.danglingReference, "a link of the relationship refers to an object that is not in the store, or of another entity.")
  }

  static func unknownEntity(number: Int64) -> Self {
    Self(.invalidKey, "the row's entity number is \(number), which does not belong to a concrete entity of the model.")
  }

  static func unknownEntities(number: Int64, rows: Int) -> Self {
    Self(.invalidKey, "\(rows) rows have the entity number \(number), which does not belong to an entity of the model.")
  }

  static var invalidKey: Self { Self(.invalidKey, "the row's primary key is invalid: keys must be between 1 and 2⁴⁶.") }

  // Values.

  static func missingFile(_ name: String, folder: String) -> Self {
    Self(
      .missingFile, "the file “\(name)” with the value is missing in \(folder). Copy the folder with the store, or skip missing values.")
  }

  static var badFileName: Self { Self(.invalidValue, "the value refers to an external file with an invalid name.") }

  /// The expected type of a column.
  enum Expected: String {
    case text
    case integer = "an integer"
    case number = "a number"
    case decimal = "a decimal"
    case bytes
  }

  static func otherType(_ type: ColumnType, expected: Expected) -> Self {
    let found =
      switch type {
      case .integer: "an integer"
      case .real: "a number"
      case .text: "text"
      case .blob: "bytes"
      case .null: "nothing"
      }
    return Self(.invalidValue, "the value is \(found), expected \(expected.rawValue).")
  }

  static var fraction: Self { Self(.invalidValue, "the value is a fraction, expected an integer.") }
  static func tooLarge(_ type: AttributeType) -> Self { Self(.invalidValue, "the value does not fit into \(type.rawValue).") }
  static var infiniteDate: Self { Self(.invalidValue, "the value is an infinite number, expected a date.") }
  static var noUTF8: Self { Self(.invalidValue, "the value is not valid UTF-8.") }
  static var noDecimal: Self { Self(.invalidValue, "the value is not a decimal number.") }

  static var notANumber: Self {
    Self(
      .invalidValue,
      "the decimal is not a number (NaN), which cannot be stored. Set it to a number or to nil in the original store, then import again.")
  }

  static var noUUID: Self { Self(.invalidValue, "the value is not a UUID of 16 bytes.") }
}

// MARK: - Advice

extension CoreDataImportError: LocalizedError {}

extension CoreDataImportError: AdvisedError {
  package var advice: ErrorAdvice { code.advice }
}

extension CoreDataImportError.Code {
  /// The advice for users and developers of an application.
  package var advice: ErrorAdvice {
    switch self {
    case .notRecognized:
      ErrorAdvice(
        user: "This file cannot be imported.",
        developer: "Use a SQLite store of Core Data. Convert XML and binary stores with Core Data first.")
    case .modelMismatch:
      ErrorAdvice(
        user: "This file belongs to another version and cannot be imported.",
        developer: "Import with the model that the store was written with, then migrate. findings lists every difference.")
    case .ambiguousColumns:
      ErrorAdvice(
        user: "This file cannot be imported.",
        developer: "Give properties with the same name different names with Core Data, and import that store.")
    case .invalidValue:
      ErrorAdvice(
        user: "This file contains a damaged value.",
        developer: "Correct the value with Core Data, or delete the row from the file.")
    case .invalidKey:
      ErrorAdvice(user: "This file is damaged.", developer: "Correct the row with Core Data, or restore a backup of the file.")
    case .missingFile:
      ErrorAdvice(
        user: "Part of this file is missing.",
        developer: "Copy the folder of large values with the store, or set skipsMissing in the import's options.")
    case .danglingReference:
      ErrorAdvice(user: "This file is damaged.", developer: "Correct the row with Core Data, or set skipsMissing in the import's options.")
    case .differingModel:
      ErrorAdvice(
        user: "The data belongs to another version.",
        developer: "Import into a store with the old model, then migrate that store.")
    case .countMismatch:
      ErrorAdvice(
        user: "The import failed; nothing was imported.",
        developer: "Close all programs that write to the file, and import again.")
    }
  }
}
