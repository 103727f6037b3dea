// TypedSnapshotTests: snapshots with typed properties, as the build-tool plugin writes them.
import CipherData
import CipherDataEngine
import Foundation
import XCTest

final class TypedSnapshotTests: XCTestCase {
  private func makeContainer() async throws -> PersistentContainer {
    let container = try DebianArchiveModel.makeContainer(persistentStoreDescriptions: [PersistentStoreDescription(type: .inMemory)])
    try await container.loadPersistentStores()
    return container
  }

  private func makePackage(_ name: String, _ context: ManagedObjectContext) -> Package {
    let package = Package(context: context)
    package.name = name
    package.version = "1"
    package.architecture = "amd64"
    return package
  }

  func testASnapshotHasTypedProperties() async throws {
    let container = try await makeContainer()
    let context = container.newBackgroundContext()
    let package = makePackage("swift", context)
    package.installedSize = 5
    package.homepage = URL(string: "https://swift.org")
    let section = Section(context: context)
    section.name = "devel"
    package.section = section
    let dependency = Dependency(context: context)
    dependency.package = package
    try context.save()
    let snapshot: Package.Snapshot = try package.snapshot(including: ["relations"])
    XCTAssertEqual(snapshot.name, "swift")
    XCTAssertEqual(snapshot.version, "1", "the property, not the row's version")
    XCTAssertEqual(snapshot.installedSize, 5)
    XCTAssertEqual(snapshot.homepage, URL(string: "https://swift.org"))
    XCTAssertFalse(snapshot.essential)
    XCTAssertEqual(snapshot.section, section.objectID)
    XCTAssertEqual(snapshot.relations, [dependency.objectID])
    XCTAssertNil(snapshot.downloadSize)
    XCTAssertEqual(snapshot.id, package.objectID)
    XCTAssertEqual(snapshot.untyped, try (package as ManagedObject).snapshot(including: ["relations"]))
    let of = try dependency.snapshot()
    XCTAssertEqual(of.package, package.objectID, "inherited properties are there")
    let above: PackageRelation.Snapshot = try (dependency as PackageRelation).snapshot()
    XCTAssertEqual(above.package, package.objectID)
    XCTAssertEqual(try Dependency.Snapshot(above.untyped).package, package.objectID)
    XCTAssertThrowsError(try Conflict.Snapshot(above.untyped)) { XCTAssertEqual(($0 as? StoreError)?.code, .invalidRequest) }
    XCTAssertThrowsError(try package.snapshot(including: ["section"]))
  }

  func testMembersAreNamedByKeyPaths() async throws {
    let container = try await makeContainer()
    let context = container.newBackgroundContext()
    let package = makePackage("swift", context)
    let dependency = Dependency(context: context)
    dependency.package = package
    try context.save()
    let snapshot: Package.Snapshot = try package.snapshot(including: [\.relations])
    XCTAssertEqual(snapshot.relations, [dependency.objectID])
    XCTAssertEqual(snapshot, try package.snapshot(including: ["relations"]))
    XCTAssertNil(try package.snapshot(including: []).relations)
    let untyped: ObjectSnapshot = try package.snapshot(including: [\.relations])
    XCTAssertEqual(untyped, snapshot.untyped)
    let fetched = try context.fetch(Package.all, as: Package.Snapshot.self, including: [\.relations])
    XCTAssertEqual(fetched.map(\.relations), [[dependency.objectID]])
    XCTAssertEqual(try context.fetch(Package.all, as: ObjectSnapshot.self, including: [\.relations]), fetched.map(\.untyped))
    let read = try await context.asynchronousFetch(Package.all, as: Package.Snapshot.self, including: [\.relations]).value()
    XCTAssertEqual(read, fetched)
    let plain = try await context.asynchronousFetch(Package.all, as: ObjectSnapshot.self, including: [\.relations]).value()
    XCTAssertEqual(plain, fetched.map(\.untyped))
    for keyPath in [\Package.section, \Package.name, \Package.section?.packages] as [PartialKeyPath<Package>] {
      XCTAssertThrowsError(try package.snapshot(including: [keyPath])) {
        XCTAssertEqual(($0 as? KeyValueError)?.code, .unknownRelationship)
      }
    }
    XCTAssertThrowsError(try package.snapshot(including: [\.hasChanges])) { error in
      guard case .unsupported? = error as? FetchPredicateError else { return XCTFail("\(error)") }
    }
  }

  func testASnapshotIsEditedElsewhereAndApplied() async throws {
    let container = try await makeContainer()
    let context = container.newBackgroundContext()
    let package = makePackage("swift", context)
    let section = Section(context: context)
    section.name = "devel"
    try context.save()
    let (snapshot, place) = (try package.snapshot(), section.objectID)
    let edited = await Task.detached {
      var snapshot = snapshot
      snapshot.name = "swiftly"
      snapshot.essential = true
      snapshot.installedSize = nil
      snapshot.section = place
      return snapshot
    }.value
    XCTAssertEqual(edited.changedKeys.sorted(), ["essential", "installedSize", "name", "section"])
    XCTAssertNotEqual(edited, snapshot)
    let id = try await container.performBackgroundTask { context in
      let package: Package = try context.apply(edited)
      XCTAssertEqual(package.section?.name, "devel")
      try context.save()
      return package.objectID
    }
    XCTAssertEqual(id, package.objectID)
    context.refreshAllObjects()
    XCTAssertEqual(package.name, "swiftly")
    XCTAssertTrue(package.essential)
    XCTAssertEqual(section.packages, [package])
  }

  func testANewObjectIsMadeOfASnapshot() async throws {
    let container = try await makeContainer()
    let context = container.newBackgroundContext()
    var draft = try Package.Snapshot()
    XCTAssertNil(draft.objectID)
    XCTAssertFalse(draft.essential)
    draft.name = "new"
    draft.version = "2"
    draft.architecture = "all"
    let coded = try JSONEncoder().encode(draft)
    let package = try context.apply(JSONDecoder().decode(Package.Snapshot.self, from: coded))
    try context.save()
    XCTAssertEqual(package.name, "new")
    XCTAssertThrowsError(try JSONDecoder().decode(Section.Snapshot.self, from: coded)) { XCTAssertTrue($0 is DecodingError, "\($0)") }
    XCTAssertThrowsError(try PackageRelation.Snapshot()) { XCTAssertEqual(($0 as? StoreError)?.code, .invalidRequest) }
  }

  func testAFetchGivesTypedSnapshots() async throws {
    let container = try await makeContainer()
    let writer = container.newBackgroundContext()
    let package = makePackage("a", writer)
    for relation in [Dependency(context: writer), Conflict(context: writer)] as [PackageRelation] { relation.package = package }
    _ = makePackage("b", writer)
    try writer.save()
    let context = container.newBackgroundContext()
    let found = try context.fetch(Package.all.sorted { $0.name }, as: Package.Snapshot.self, including: ["relations"])
    XCTAssertEqual(found.map(\.name), ["a", "b"])
    XCTAssertEqual(found.map { $0.relations?.count }, [2, 0])
    XCTAssertEqual(context.registeredObjects.count, 0)
    let relations = try context.fetch(PackageRelation.all, as: PackageRelation.Snapshot.self)
    XCTAssertEqual(relations.map(\.package), [package.objectID, package.objectID])
    XCTAssertEqual(try context.fetch(Dependency.all, as: PackageRelation.Snapshot.self).count, 1)
    XCTAssertThrowsError(try context.fetch(PackageRelation.all, as: Dependency.Snapshot.self)) { error in
      XCTAssertEqual((error as? StoreError)?.code, .invalidRequest, "a conflict is no dependency")
    }
    var names: [String] = []
    for try await snapshot in container.values(of: Package.all.sorted { $0.name }, { try $0.snapshot() }) { names.append(snapshot.name) }
    XCTAssertEqual(names, ["a", "b"])
  }

  func testValuesOfEveryKindAreTyped() async throws {
    let container = try MessengerModel.makeContainer(persistentStoreDescriptions: [PersistentStoreDescription(type: .inMemory)])
    try await container.loadPersistentStores()
    let context = container.newBackgroundContext()
    var draft = try Account.Snapshot()
    draft.identifier = UUID()
    draft.displayName = "Ada"
    draft.balance = Decimal(string: "1.25") ?? 0
    draft.settings = ["a": "b"]
    draft.avatar = Data([1, 2])
    draft.createdAt = Date(timeIntervalSinceReferenceDate: 3)
    XCTAssertEqual(draft.settings, ["a": "b"])
    XCTAssertEqual(try draft.avatarStream?.data(), Data([1, 2]))
    let account = try context.apply(draft)
    try context.save()
    XCTAssertEqual(account.settings, ["a": "b"])
    XCTAssertEqual(account.balance, Decimal(string: "1.25"))
    var snapshot = try account.snapshot()
    XCTAssertEqual(snapshot.identifier, account.identifier)
    XCTAssertEqual(snapshot.balance, account.balance)
    XCTAssertEqual(snapshot.avatar, Data([1, 2]))
    snapshot.avatarStream = nil
    XCTAssertNil(snapshot.avatar)
    let read = try JSONDecoder().decode(Account.Snapshot.self, from: JSONEncoder().encode(snapshot))
    XCTAssertEqual(read, snapshot)
    XCTAssertEqual(read.createdAt, Date(timeIntervalSinceReferenceDate: 3))
    try context.apply(read)
    XCTAssertNil(account.avatar)
  }
}
