// The messages of all import errors.
import ObjectModel
import SQLCipherConnection

extension CoreDataImportError {
  /// The reason for an error. The entity, property and key are separate.
  enum Reason {
    // The file.
    case otherForm(Form)
    case noTables
    case plainCopy
    case otherTables([String])
    case otherModel(versions: Set<String>)
    case ambiguousColumn(String, table: String)

    // The target store.
    case differingModel(entities: [String])
    case miscounted(counted: Int, read: Int, written: Int)

    // Rows and links.
    case destinationNotHeld
    case strangeReference
    case strangeLink
    case strangeEntity(number: Int64)
    case strangeEntities(number: Int64, rows: Int)
    case strangeKey

    // Values.
    case missingFile(String, folder: String)
    case badFileName
    case otherType(ColumnType, expected: Expected)
    case fraction
    case tooGreat(AttributeType)
    case infiniteDate
    case noUTF8
    case noDecimal
    case notANumber
    case noUUID
  }

  /// Core Data's other store types.
  enum Form: String {
    case xml = "an XML store of Core Data"
    case binary = "a binary store of Core Data"
  }

  /// The expected type of a column.
  enum Expected: String {
    case text
    case integer = "an integer"
    case number = "a number"
    case decimal = "a decimal"
    case bytes
  }

  init(
    _ reason: Reason, path: String? = nil, entityName: String? = nil, propertyName: String? = nil, key: Int64? = nil,
    findings: [String] = []
  ) {
    (code, message, self.path) = (reason.code, reason.sentence, path)
    (self.entityName, self.propertyName, self.key, self.findings) = (entityName, propertyName, key, findings)
  }
}

extension CoreDataImportError.Reason {
  var code: CoreDataImportError.Code {
    switch self {
    case .otherForm, .noTables, .plainCopy, .otherTables: .notRecognized
    case .otherModel, .destinationNotHeld: .modelMismatch
    case .ambiguousColumn: .ambiguousColumns
    case .differingModel: .differingModel
    case .miscounted: .countMismatch
    case .strangeReference, .strangeLink: .danglingReference
    case .strangeEntity, .strangeEntities, .strangeKey: .invalidKey
    case .missingFile: .missingFile
    case .badFileName, .otherType, .fraction, .tooGreat, .infiniteDate, .noUTF8, .noDecimal, .notANumber, .noUUID: .invalidValue
    }
  }

  var sentence: String {
    switch self {
    case .otherForm(let form):
      return "The file looks like \(form.rawValue); only SQLite stores are read. Migrate it to a SQLite store with Core Data first."
    case .noTables: return "The database has no tables."
    case .plainCopy: return "The database is a plain copy of a CipherData store, which `cipherdata encrypt` converts back to a store."
    case .otherTables(let names):
      let others = names.count > 8 ? " and \(names.count - 8) more" : ""
      return
        "The database has neither Core Data's tables Z_PRIMARYKEY and Z_METADATA nor the encrypted Core Data store's meta and ecd…; it has "
        + "\(names.prefix(8).joined(separator: ", "))\(others)."
    case .otherModel(let versions):
      let list = versions.sorted().map { "“\($0)”" }.joined(separator: ", ")
      return "The store was not written with this model." + (versions.isEmpty ? "" : " It was written with the version \(list).")
    case .ambiguousColumn(let column, let table):
      return
        "several subentities have a property with this name, and the column \(column) of \(table), which should belong to this one, has values "
        + "in rows of others. Give the properties different names with Core Data, and import that store."
    case .differingModel(let entities):
      return
        "The destination store has another model; these entities differ: \(entities.joined(separator: ", ")). Import into a store of the old model, "
        + "then migrate that store."
    case .miscounted(let counted, let read, let written):
      return "\(counted) objects were counted, \(read) read and \(written) written. Nothing was imported."
    case .destinationNotHeld: return "the relationship leads to an entity that the store does not hold."
    case .strangeReference: return "the relationship refers to an object that is not in the store, or of another entity."
    case .strangeLink: return "a link of the relationship refers to an object that is not in the store, or of another entity."
    case .strangeEntity(let number):
      return "the row's entity number is \(number), which does not belong to a concrete entity of the model."
    case .strangeEntities(let number, let rows):
      return "\(rows) rows have the entity number \(number), which does not belong to an entity of the model."
    case .strangeKey: return "the row's primary key is invalid: keys must be between 1 and 2⁴⁶."
    case .missingFile(let name, let folder):
      return
        "the file “\(name)” with the value is missing in \(folder). Copy the folder with the store, or skip missing values."
    case .badFileName: return "the value refers to an external file with an invalid name."
    case .otherType(let type, let expected): return "the value is \(Self.name(type)), expected \(expected.rawValue)."
    case .fraction: return "the value is a fraction, expected an integer."
    case .tooGreat(let type): return "the value does not fit into \(type.rawValue)."
    case .infiniteDate: return "the value is an infinite number, expected a date."
    case .noUTF8: return "the value is not valid UTF-8."
    case .noDecimal: return "the value is not a decimal number."
    case .notANumber:
      return
        "the decimal is not a number (NaN), which cannot be stored. Set it to a number or to nil in the original store, then import again."
    case .noUUID: return "the value is not a UUID of 16 bytes."
    }
  }

  private static func name(_ type: ColumnType) -> String {
    switch type {
    case .integer: "an integer"
    case .real: "a number"
    case .text: "text"
    case .blob: "bytes"
    case .null: "nothing"
    }
  }
}
