// A source may contain any value in any column, so every value is checked.

import Foundation
@_spi(Generated) import ObjectModel
import ObjectStore
import SQLCipherConnection

/// Converts column values to slots, and collects the notes of the report.
final class ValueReader {
  private let coding: SourceCoding
  private let external: ExternalDataFolder
  private let options: CoreDataImportOptions
  private let model: CompiledModel
  private(set) var externalFileCount = 0
  /// The size in bytes of the external files that rows refer to. They may have to be in memory when a batch is written.
  private(set) var fileBytes = 0
  private var notes: [NoteKey: Int] = [:]

  private struct NoteKey: Hashable {
    let entity: Int
    let property: String
    let text: String
  }

  private static let secondsTo2001 = 978_307_200.0

  init(layout: SourceLayout, store url: URL, options: CoreDataImportOptions) {
    coding = layout.coding
    model = layout.model
    external = ExternalDataFolder(store: url)
    self.options = options
  }

  // MARK: Attributes

  /// Writes a column's value into the current row of the writer.
  func read(_ statement: Statement, _ column: Int32, _ slot: CompiledSlot, into writer: RowWriter, key: Int64) throws {
    let type = statement.type(column)
    guard type != .null, let attributeType = slot.attributeType else { return }
    let traits = attributeType.traits
    switch traits.slotKind {
    case .int: writer.setInt(try integer(statement, column, type, attributeType, slot, key), at: slot.index)
    case .real: writer.setReal(try real(statement, column, type, traits, slot, key), at: slot.index)
    case .text:
      guard type == .text else { throw failure(slot, key, .otherType(type, expected: .text)) }
      let text = statement.textBuffer(column)
      guard Self.isUTF8(text) else { throw failure(slot, key, .noUTF8) }
      writer.setBytes(text, at: slot.index)
    case .bytes:
      switch traits.resolvedType {
      case .decimal: writer.set(.bytes(try decimal(statement, column, type, slot, key)), at: slot.index)
      case .uuid: writer.set(.bytes(try uuid(statement, column, type, slot, key)), at: slot.index)
      default: try bytes(statement, column, type, slot, into: writer, key)
      }
    case .reference, .none: break
    }
  }

  private func integer(
    _ statement: Statement, _ column: Int32, _ type: ColumnType, _ attributeType: AttributeType, _ slot: CompiledSlot, _ key: Int64
  ) throws -> Int64 {
    var value = statement.int64(column)
    if type == .real {
      guard let exact = Int64(exactly: statement.double(column)) else {
        throw failure(slot, key, .fraction)
      }
      value = exact
    } else if type != .integer {
      throw failure(slot, key, .otherType(type, expected: .integer))
    }
    // Core Data treats any number except 0 as true.
    if attributeType.traits.resolvedType == .boolean { return value == 0 ? 0 : 1 }
    if AttributeChecker.typeFailure(of: .int(value), type: attributeType) != nil {
      throw failure(slot, key, .tooLarge(attributeType))
    }
    return value
  }

  private func real(
    _ statement: Statement, _ column: Int32, _ type: ColumnType, _ traits: AttributeTypeTraits, _ slot: CompiledSlot, _ key: Int64
  ) throws -> Double {
    guard type == .real || type == .integer else { throw failure(slot, key, .otherType(type, expected: .number)) }
    var value = statement.double(column)
    if traits.resolvedType == .date {
      guard value.isFinite else { throw failure(slot, key, .infiniteDate) }
      if coding == .encryptedCoreData { value -= Self.secondsTo2001 }
    }
    return traits.number == .single ? Double(Float(value)) : value
  }

  /// Core Data passes decimals to SQLite as text. SQLite stores them as integers or as doubles with 15 digits if possible.
  private func decimal(_ statement: Statement, _ column: Int32, _ type: ColumnType, _ slot: CompiledSlot, _ key: Int64) throws -> Data {
    let text: String
    switch type {
    case .integer: text = String(statement.int64(column))
    case .real:
      // The shortest decimal that parses to the same double: 12.34 is 12.34 again.
      guard let coding = DecimalCoding.encode(representable: statement.double(column)) else { throw failure(slot, key, .noDecimal) }
      return coding
    case .text: text = statement.text(column)
    case .blob, .null: throw failure(slot, key, .otherType(type, expected: .decimal))
    }
    if text == "NaN" {
      // The new store computes derived values again, so an invalid one needs no correction.
      guard slot.isDerived else { throw failure(slot, key, .notANumber) }
      return DecimalCoding.encode(.nan)
    }
    let allowed = text.utf8.allSatisfy { ($0 >= 0x30 && $0 <= 0x39) || [0x2B, 0x2D, 0x2E, 0x45, 0x65].contains($0) }
    guard allowed, !text.isEmpty, let value = Decimal(string: text, locale: Locale(identifier: "en_US_POSIX")), !value.isNaN else {
      throw failure(slot, key, .noDecimal)
    }
    return DecimalCoding.encode(value)
  }

  private func uuid(_ statement: Statement, _ column: Int32, _ type: ColumnType, _ slot: CompiledSlot, _ key: Int64) throws -> Data {
    if type == .blob, statement.blobBuffer(column).count == 16 { return statement.data(column) }
    if type == .text, let uuid = UUID(uuidString: statement.text(column)), case .bytes(let data) = uuid.slot { return data }
    throw failure(slot, key, .noUUID)
  }

  private func bytes(
    _ statement: Statement, _ column: Int32, _ type: ColumnType, _ slot: CompiledSlot, into writer: RowWriter, _ key: Int64
  ) throws {
    guard type == .blob || type == .text else { throw failure(slot, key, .otherType(type, expected: .bytes)) }
    var value = type == .blob ? statement.blobBuffer(column) : statement.textBuffer(column)
    var file: ExternalData?
    if coding == .coreData, slot.attribute?.allowsExternalBinaryDataStorage == true {
      switch ExternalDataFolder.content(value) {
      case .inline: value = UnsafeRawBufferPointer(rebasing: value.dropFirst())
      case .unmarked:
        if !value.isEmpty { note(slot, "values have no mark of external storage and are taken as they are") }
      case .malformed: throw failure(slot, key, .badFileName)
      case .file(let name):
        guard let found = try external.file(name) else {
          if options.skipsMissing { return note(slot, "files are missing; the objects have no value there") }
          throw failure(slot, key, .missingFile(name, folder: external.folder.path))
        }
        externalFileCount += 1
        fileBytes = fileBytes.addingReportingOverflow(try found.count).partialValue & .max
        file = found
      }
    }
    if slot.attributeType == .transformable {
      if let convert = options.transformableConversion {
        let data = try convert(model.entities[slot.declaringEntity].name, slot.name, try file?.data() ?? Data(value))
        return writer.set(.bytes(data), at: slot.index)
      }
      note(slot, "transformed values are kept as they are; register a transformer that reads them")
    }
    if let file { writer.setExternal(file, at: slot.index) } else { writer.setBytes(value, at: slot.index) }
  }

  private static func isUTF8(_ bytes: UnsafeRawBufferPointer) -> Bool {
    // Most texts are ASCII, which needs no decoding.
    if bytes.allSatisfy({ $0 < 0x80 }) { return true }
    return String(validating: bytes, as: UTF8.self) != nil
  }

  func failure(_ slot: CompiledSlot, _ key: Int64, _ reason: CoreDataImportError.Reason) -> CoreDataImportError {
    CoreDataImportError(reason, entityName: model.entities[slot.declaringEntity].name, propertyName: slot.name, key: key)
  }

  // MARK: Notes

  func note(_ slot: CompiledSlot, _ text: String) { note(slot.declaringEntity, slot.name, text) }

  func note(_ entity: Int, _ property: String, _ text: String, count: Int = 1) {
    notes[NoteKey(entity: entity, property: property, text: text), default: 0] += count
  }

  /// The notes of the report, by property.
  var report: [CoreDataImportReport.Note] {
    notes.map { key, count in
      CoreDataImportReport.Note(entityName: model.entities[key.entity].name, propertyName: key.property, text: key.text, count: count)
    }.sorted { ($0.entityName, $0.propertyName, $0.text) < ($1.entityName, $1.propertyName, $1.text) }
  }
}

/// The folder of a store's external binary values: `.Name_SUPPORT/_EXTERNAL_DATA` next to `Name.sqlite`. The first byte in the column
/// indicates whether a value is external.
struct ExternalDataFolder {
  /// The content of a column.
  enum Content: Equatable {
    /// The value follows a byte 1.
    case inline
    /// The name of a file, between a byte 2 and a byte 0.
    case file(String)
    /// The value, without a marker.
    case unmarked
    /// The marker of a file, with an invalid file name.
    case malformed
  }

  let folder: URL

  init(store url: URL) {
    let name = url.deletingPathExtension().lastPathComponent
    folder = url.deletingLastPathComponent().appendingPathComponent(".\(name)_SUPPORT/_EXTERNAL_DATA", isDirectory: true)
  }

  static func content(_ bytes: UnsafeRawBufferPointer) -> Content {
    switch bytes.first {
    case 1: return .inline
    case 2:
      let name = bytes.dropFirst().prefix { $0 != 0 }
      guard name.count == bytes.count - 1 || name.count == bytes.count - 2, (1...255).contains(name.count),
        let text = String(validating: name, as: UTF8.self), !text.contains("/"), text != ".", text != ".."
      else { return .malformed }
      return .file(text)
    default: return .unmarked
    }
  }

  /// Returns a file; nil if it does not exist. Symbolic links are not followed: only files in the folder itself belong to the store.
  ///
  /// - Throws: `StoreError` if it is not a regular file, or cannot be read.
  func file(_ name: String) throws -> ExternalData? {
    let url = folder.appendingPathComponent(name, isDirectory: false)
    var status = stat()
    guard lstat(url.path, &status) == 0 else {
      let number = errno
      if number == ENOENT || number == ENOTDIR { return nil }
      var error = StoreError(
        [EACCES, EPERM].contains(number) ? .largeValueForbidden : .largeValueUnreadable, operation: .import, path: url.path)
      error.systemErrorNumber = number
      throw error
    }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw StoreError(.largeValueIrregular, operation: .import, path: url.path)
    }
    return try ExternalData(contentsOf: url)
  }
}

extension StoreError.Reason {
  fileprivate static var largeValueIrregular: Self { Self(.io, "The file of a large value is not a regular file.") }
}
