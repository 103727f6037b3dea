import ArchiveClasses
import BenchmarkData
import CipherData
import Foundation

/// W19 and W20 on our side: the import of the archive's package index, and queries on it.
@MainActor
final class ArchiveSides {
  private let stores: OurStores
  private let index: String
  private var container: PersistentContainer?
  /// The imported store of W20.
  private var asked: PersistentContainer?
  private var context: ManagedObjectContext?
  private var answer: UInt64 = 0

  init(_ stores: OurStores, index: String) {
    self.stores = stores
    self.index = index
  }

  func sides() -> [String: Side] {
    [
      "W19": Side(prepare: prepareImport, run: importIndex, finish: finishImport),
      "W20a": Side(prepare: prepareAsking, run: askExists, finish: finishAsking),
      "W20b": Side(prepare: prepareAsking, run: askAny, finish: finishAsking),
      "W20c": Side(prepare: prepareAsking, run: askSubquery, finish: finishAsking),
      "W20d": Side(prepare: prepareAsking, run: askSections, finish: finishAsking),
      "W20e": Side(prepare: prepareAsking, run: askGames, finish: finishAsking),
      "W20f": Side(prepare: prepareAsking, run: askMaintainers, finish: finishAsking),
      "W20g": Side(prepare: prepareAsking, run: askLargest, finish: finishAsking),
    ]
  }

  // MARK: W19

  private func open(_ path: String) async throws -> PersistentContainer {
    OurStores.remove(path)
    let container = try OurStores.container(path, model: DebianArchiveModel.managedObjectModel, classes: DebianArchiveModel.classes)
    try await container.loadPersistentStores()
    return container
  }

  private func prepareImport() async throws {
    let container = try await open(stores.path("ours-import.store"))
    context = container.newBackgroundContext()
    self.container = container
  }

  private func importIndex() async throws {
    guard let context else { return }
    var importer = ArchiveImporter(context: context)
    try importer.run(index)
  }

  private func finishImport() async throws -> UInt64 {
    guard let container else { return 0 }
    context = nil
    let hash = try checksum(container.newBackgroundContext())
    try container.close()
    self.container = nil
    OurStores.remove(stores.path("ours-import.store"))
    return hash
  }

  private func checksum(_ context: ManagedObjectContext) throws -> UInt64 {
    func count(_ entity: String, _ predicate: FetchPredicate? = nil) throws -> Int {
      try context.count(for: FetchRequest<ManagedObject>(entityName: entity, predicate: predicate))
    }
    let pairs = try context.fetch(Tag.all).reduce(0) { try $0 + $1.objectIDs(forRelationshipNamed: "packages").count }
    var (installed, download): (Int64, Int64) = (0, 0)
    for package in try context.fetch(Package.all) {
      installed += package.installedSize ?? 0
      download += package.downloadSize ?? 0
    }
    let versioned = try count("Alternative", .compare("version", .notEqual, FetchConstant.null))
    let numbers = [
      try count("Section"), try count("Maintainer"), try count("Tag"), pairs, try count("Package"), Int(installed), Int(download),
      try count("PackageRelation"), try count("Alternative"), versioned,
    ]
    return numbers.reduce(0) { bench_mix($0, UInt64($1)) }
  }

  // MARK: W20

  private func prepareAsking() async throws {
    if asked == nil {
      let container = try await open(stores.path("ours-archive.store"))
      var importer = ArchiveImporter(context: container.newBackgroundContext())
      try importer.run(index)
      asked = container
    }
    context = asked?.newBackgroundContext()
  }

  private func finishAsking() async throws -> UInt64 {
    context = nil
    return answer
  }

  private func ask<Object: ManagedObject>(
    _ entity: String, _ predicate: FetchPredicate, by keys: [String], _ texts: (Object) -> [String?]
  ) throws {
    var request = FetchRequest<Object>(entityName: entity, predicate: predicate)
    request.sortDescriptors = keys.map { FetchSortDescriptor($0) }
    var hash: UInt64 = 0
    for object in try context?.fetch(request) ?? [] {
      for text in texts(object) {
        hash = OurStores.withCharacters(text ?? "") { bench_mix_text(hash, $0.baseAddress, $0.count) }
      }
    }
    answer = hash
  }

  private func askExists() async throws {
    try ask(
      "Package", FetchPredicate(format: "installedSize > 20000 AND ANY tags.name == 'role::program'"),
      by: ["name", "version", "architecture"]
    ) { (package: Package) in [package.name, package.version] }
  }

  private func askAny() async throws {
    try ask(
      "Package", FetchPredicate(format: "ANY relations.alternatives.packageName == 'libssl3'"), by: ["name", "version", "architecture"]
    ) { (package: Package) in [package.name, package.version] }
  }

  private func askSubquery() async throws {
    try ask(
      "Maintainer", FetchPredicate(format: "SUBQUERY(packages, $p, $p.installedSize > 10000).@count > 10"), by: ["email"]
    ) { (maintainer: Maintainer) in [maintainer.email, maintainer.name] }
  }

  private func ask(_ request: FetchRequest<[String: Any]>, _ columns: [String]) throws {
    var hash: UInt64 = 0
    for row in try context?.fetch(request) ?? [] {
      for column in columns {
        if let number = row[column] as? Int64 {
          hash = bench_mix(hash, UInt64(number))
        } else {
          hash = OurStores.withCharacters(row[column] as? String ?? "") { bench_mix_text(hash, $0.baseAddress, $0.count) }
        }
      }
    }
    answer = hash
  }

  private func askSections() throws {
    var request = FetchRequest<[String: Any]>(entityName: "Package")
    request.propertiesToFetch = try FetchProperty.list(format: "section.name, count(name) AS n, sum(installedSize) AS size")
    try ask(request.grouped(by: "section.name").sorted(by: "section.name"), ["section.name", "n", "size"])
  }

  private func askGames() throws {
    try ask(
      "Package",
      FetchPredicate(
        format: "section.name CONTAINS 'games' AND ANY tags.name BEGINSWITH 'uitoolkit::' AND SUBQUERY(relations, $r, "
          + "($r.entity == 'Dependency' OR $r.entity == 'PreDependency') AND ANY $r.alternatives.packageName LIKE 'libgtk*').@count == 0"),
      by: ["name", "version", "architecture"]
    ) { (package: Package) in [package.name, package.version] }
  }

  private func askMaintainers() throws {
    let request = FetchRequest<[String: Any]>(entityName: "Maintainer", predicate: try FetchPredicate(format: "packages.@count > 200"))
    try ask(
      request.selecting("email", "packages.@count").sorted(by: "packages.@count", ascending: false).sorted(by: "email"),
      ["email", "packages.@count"])
  }

  private func askLargest() throws {
    var request = FetchRequest<[String: Any]>(entityName: "Package")
    request.propertiesToFetch = try FetchProperty.list(format: "section.name, sum(installedSize) AS size")
    try ask(
      request.grouped(by: "section.name").sorted(by: "size", ascending: false).sorted(by: "section.name").limit(10),
      ["section.name", "size"])
  }
}
