import CoreData
import Foundation

/// Migrates a store stepwise from the version in its metadata to the current one, or to another, as applications do that skip no version.
final class StepwiseMigrator {
  /// How a migrated file replaces the store.
  enum Replacement: CaseIterable {
    /// The coordinator replaces the store from a temporary folder.
    case coordinator
    /// All files with the store's name as prefix are moved, after those of the old store have been moved to a backup.
    case filesByPrefix
    /// The three files that SQLite uses are removed, and those of the migrated store are moved.
    case filesByName
    /// The file manager replaces one file.
    case itemReplaced
  }

  /// How the versions are found.
  enum Inventory: CaseIterable {
    /// In the list in the model's bundle.
    case versionInfo
    /// By the files in the model's bundle.
    case files
    /// By names in the application.
    case names
  }

  struct Failure: Error { let reason: String }

  let momd = "Ledger.momd"
  let replacement: Replacement
  let inventory: Inventory
  private let files = FileManager.default
  private(set) var steps: [String] = []
  private(set) var progress: [Float] = []
  /// Mapping models of the application, by the name of their destination version.
  var mappingModels: [String: (NSManagedObjectModel, NSManagedObjectModel) throws -> NSMappingModel] = [:]

  init(_ replacement: Replacement, _ inventory: Inventory = .versionInfo) {
    (self.replacement, self.inventory) = (replacement, inventory)
  }

  // MARK: Versions

  /// The versions of the model in order.
  func versions() throws -> [(name: String, model: NSManagedObjectModel)] {
    try names().sorted { $0.compare($1, options: .numeric) == .orderedAscending }.map { name in
      (name, try version(name))
    }
  }

  func version(_ name: String) throws -> NSManagedObjectModel {
    let bundle = Bundle(for: StepwiseMigrator.self)
    let optimized = bundle.url(forResource: name, withExtension: "omo", subdirectory: momd)
    guard let url = optimized ?? bundle.url(forResource: name, withExtension: "mom", subdirectory: momd),
      let model = NSManagedObjectModel(contentsOf: url)
    else { throw Failure(reason: "no version \(name)") }
    return model
  }

  private func names() throws -> [String] {
    let bundle = Bundle(for: StepwiseMigrator.self)
    switch inventory {
    case .names: return ["Ledger"] + (2...10).map { "Ledger \($0)" }
    case .files:
      guard let path = bundle.paths(forResourcesOfType: "momd", inDirectory: nil).first(where: { $0.hasSuffix("/" + momd) }) else {
        throw Failure(reason: "no bundle of versions")
      }
      return try files.contentsOfDirectory(atPath: path).filter { $0.hasSuffix(".mom") }.map { String($0.dropLast(4)) }
    case .versionInfo:
      guard let url = bundle.url(forResource: "Ledger", withExtension: "momd"),
        let data = try? Data(contentsOf: url.appendingPathComponent("VersionInfo.plist")),
        let info = try PropertyListSerialization.propertyList(from: data, format: nil) as? [String: Any],
        let hashes = info["NSManagedObjectModel_VersionHashes"] as? [String: [String: Data]]
      else { throw Failure(reason: "no list of versions") }
      return Array(hashes.keys)
    }
  }

  // MARK: Migration

  /// Whether the store needs a migration.
  func needsMigration(_ url: URL, to target: NSManagedObjectModel) throws -> Bool {
    let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(ofType: NSSQLiteStoreType, at: url, options: nil)
    return !target.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata)
  }

  /// Migrates a store.
  func migrate(_ url: URL, to target: NSManagedObjectModel) throws {
    guard files.fileExists(atPath: url.path), try needsMigration(url, to: target) else { return }
    let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(ofType: NSSQLiteStoreType, at: url, options: nil)
    guard let source = NSManagedObjectModel.mergedModel(from: [Bundle(for: StepwiseMigrator.self)], forStoreMetadata: metadata) else {
      throw Failure(reason: "no version fits the store")
    }
    try checkpoint(url, source)
    let versions = try versions()
    guard let first = versions.firstIndex(where: { $0.model.isEqual(source) }),
      let last = versions.firstIndex(where: { $0.model == target })
    else { throw Failure(reason: "the models are not among the versions") }
    let path = first <= last ? Array(versions[first...last]) : versions[last...first].reversed()
    var place = url
    for (older, newer) in zip(path, path.dropFirst()) {
      let made = try step(place, older.model, newer.model, newer.name)
      steps.append(newer.name)
      if replacement == .coordinator {
        if place != url { try destroy(place) }
        place = made
      } else {
        try move(made, to: url)
      }
    }
    if replacement == .coordinator {
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: NSManagedObjectModel())
      try coordinator.replacePersistentStore(
        at: url, destinationOptions: nil, withPersistentStoreFrom: place, sourceOptions: nil, ofType: NSSQLiteStoreType)
      try destroy(place)
    }
  }

  /// Copies the log into the database, so that its file is complete.
  private func checkpoint(_ url: URL, _ model: NSManagedObjectModel) throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let store = try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: url, options: [NSSQLitePragmasOption: ["journal_mode": "DELETE"]])
    try coordinator.remove(store)
  }

  private func step(_ place: URL, _ older: NSManagedObjectModel, _ newer: NSManagedObjectModel, _ name: String) throws -> URL {
    let mapping =
      try mappingModels[name]?(older, newer)
      ?? NSMappingModel(from: [Bundle(for: StepwiseMigrator.self)], forSourceModel: older, destinationModel: newer)
      ?? NSMappingModel.inferredMappingModel(forSourceModel: older, destinationModel: newer)
    let made: URL
    if replacement == .coordinator {
      made = URL(fileURLWithPath: NSTemporaryDirectory(), isDirectory: true).appendingPathComponent(UUID().uuidString)
    } else {
      let folder = place.deletingLastPathComponent().appendingPathComponent("migration")
      try? files.removeItem(at: folder)
      try files.createDirectory(at: folder, withIntermediateDirectories: false)
      made = folder.appendingPathComponent(place.lastPathComponent)
    }
    let manager = NSMigrationManager(sourceModel: older, destinationModel: newer)
    progress.append(manager.migrationProgress)
    try manager.migrateStore(
      from: place, sourceType: NSSQLiteStoreType, options: nil, with: mapping, toDestinationURL: made, destinationType: NSSQLiteStoreType,
      destinationOptions: nil)
    progress.append(manager.migrationProgress)
    return made
  }

  private func destroy(_ url: URL) throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: NSManagedObjectModel())
    try coordinator.destroyPersistentStore(at: url, ofType: NSSQLiteStoreType, options: nil)
  }

  // MARK: Files

  private func move(_ made: URL, to url: URL) throws {
    let (folder, from) = (url.deletingLastPathComponent(), made.deletingLastPathComponent())
    switch replacement {
    case .coordinator: break
    case .filesByPrefix:
      let backup = folder.appendingPathComponent("backup")
      try? files.removeItem(at: backup)
      try files.createDirectory(at: backup, withIntermediateDirectories: false)
      for name in try files.contentsOfDirectory(atPath: folder.path) where name.hasPrefix(url.lastPathComponent) {
        try files.moveItem(at: folder.appendingPathComponent(name), to: backup.appendingPathComponent(name))
      }
      for name in try files.contentsOfDirectory(atPath: from.path) where name.hasPrefix(made.lastPathComponent) {
        try files.moveItem(at: from.appendingPathComponent(name), to: folder.appendingPathComponent(name))
      }
      try files.removeItem(at: backup)
    case .filesByName:
      for ending in ["", "-wal", "-shm"] {
        let (old, new) = (folder.path + "/" + url.lastPathComponent + ending, from.path + "/" + made.lastPathComponent + ending)
        if files.fileExists(atPath: old) { try files.removeItem(atPath: old) }
        if files.fileExists(atPath: new) { try files.moveItem(atPath: new, toPath: old) }
      }
    case .itemReplaced:
      _ = try files.replaceItemAt(url, withItemAt: made)
    }
    try? files.removeItem(at: from)
  }
}
