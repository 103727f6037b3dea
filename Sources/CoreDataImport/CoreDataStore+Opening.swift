public import Foundation
public import ObjectModel
import ObjectStore
import SQLCipherConnection
import SQLCipherStore
public import StoreKeys

extension CoreDataStore {
  /// Opens a store read-only, and compares it with the model that it was written with.
  ///
  /// - Parameters:
  ///   - url: The URL of the store's file.
  ///   - model: The exact version of the model that the store was written with.
  ///   - configuration: The configuration of the model that the store contains; nil for all entities.
  ///   - key: The key of an encrypted store. A `passphrase` is used with SQLCipher's own key derivation, in the page format that fits.
  ///   - options: Options for missing and unknown parts.
  /// - Throws: ``CoreDataImportError``; `StoreError`, with the code `keyRequired` if the file is encrypted and no key is given, or
  ///   `unreadableStore` for a wrong key; `ModelValidationError`.
  public static func open(
    at url: URL, model: ManagedObjectModel, configuration: String? = nil, key: StoreKey? = nil,
    options: CoreDataImportOptions = CoreDataImportOptions()
  ) async throws -> CoreDataStore {
    let compiled = try CompiledModel.compiling(model)
    guard let numbers = compiled.entityNumbers(inConfiguration: configuration) else {
      throw StoreError(.unknownConfiguration(configuration), operation: .import, path: url.path)
    }
    let databaseKey = try await SourceFile.databaseKey(path: url.path, key: key)
    return try await SourceFile.runInBackground {
      try SourceFile.read(url.path, key: databaseKey) { connection in
        let schema = try SourceSchema(connection)
        let layout = try SourceRecognition.layout(of: schema, path: url.path)
        let metadata = try SourceMetadata(connection, layout: layout)
        let source = try SourceLayout.make(
          layout, schema: schema, connection: connection, model: compiled, entityNumbers: numbers, options: options,
          versionIdentifiers: metadata.versionIdentifiers)
        return CoreDataStore(
          url: url, layout: layout, storeIdentifier: metadata.identifier, versionIdentifiers: metadata.versionIdentifiers,
          warnings: source.warnings, model: compiled, entityNumbers: numbers, key: databaseKey, options: options)
      }
    }
  }

  /// Returns the number of objects of each entity, excluding subentities. Reads all rows.
  ///
  /// - Throws: ``CoreDataImportError``, or `StoreError` if the store cannot be read.
  public func objectCounts() async throws -> [String: Int] {
    try await SourceFile.runInBackground { [self] in
      try read(model: model, entityNumbers: entityNumbers) { connection, layout in
        var counts: [String: Int] = [:]
        for table in layout.tables {
          for (number, count) in try SourceRows.counts(table, layout: layout, connection: connection) {
            counts[model.entities[number].name] = count
          }
        }
        return counts
      }
    }
  }

  /// Runs `body` with one snapshot of the file, and its layout under a model.
  func read<Result>(model: CompiledModel, entityNumbers: [Int], _ body: (Connection, SourceLayout) throws -> Result) throws -> Result {
    try SourceFile.read(url.path, key: key) { connection in
      let schema = try SourceSchema(connection)
      return try body(
        connection,
        try SourceLayout.make(
          layout, schema: schema, connection: connection, model: model, entityNumbers: entityNumbers, options: options,
          versionIdentifiers: versionIdentifiers))
    }
  }
}
