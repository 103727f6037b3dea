import CipherDataToolKit
import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import XCTest

/// Contexts over in-memory stores with the models of Schemas/.
enum TestStack {
  static var schemas: URL {
    URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
      .appendingPathComponent("Schemas")
  }

  static func model(_ name: String) throws -> ManagedObjectModel {
    try ManagedObjectModel(contentsOf: schemas.appendingPathComponent("\(name).xcdatamodeld"))
  }

  static func context(_ model: ManagedObjectModel) async throws -> ManagedObjectContext {
    let coordinator = try PersistentStoreCoordinator(managedObjectModel: model)
    try await coordinator.addPersistentStore(with: PersistentStoreDescription(type: .inMemory))
    return ManagedObjectContext(coordinator: coordinator)
  }

  static func context(_ name: String) async throws -> ManagedObjectContext { try await context(model(name)) }

  @discardableResult
  static func importIndex(_ text: String, into context: ManagedObjectContext, batchSize: Int = 3) throws -> GraphImporter.Summary {
    let folder = try TemporaryFolder()
    let source = try ByteSource(path: folder.file("index", text).path)
    return try InputImport(format: .deb822, entity: nil, skipsBadLines: false).run(from: source, into: context, batchSize: batchSize)
      .summary
  }

  @discardableResult
  static func importLines(
    _ text: String, into context: ManagedObjectContext, entity: String? = nil, skipsBadLines: Bool = false, batchSize: Int = 3
  ) throws -> InputImport.Outcome {
    let folder = try TemporaryFolder()
    let source = try ByteSource(path: folder.file("lines", text).path)
    return try InputImport(format: .jsonl, entity: entity, skipsBadLines: skipsBadLines).run(
      from: source, into: context, batchSize: batchSize)
  }

  /// Exports all objects as JSON lines.
  static func export(_ context: ManagedObjectContext, entity: String? = nil) throws -> String {
    let exporter = try GraphExporter(from: context, batchSize: 2)
    var lines: [String] = []
    let model = context.persistentStoreCoordinator.compiledModel
    try exporter.export(entity: entity.map { try model.requireEntity(named: $0) }) { lines.append($0.serialized()) }
    return lines.map { $0 + "\n" }.joined()
  }
}
