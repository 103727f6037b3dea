import CipherDataToolKit
import ObjectContext
import ObjectQuery
import ObjectStore
import XCTest

/// Import of a package index: existing objects are found, and updated only where they differ.
final class PackageImportTests: XCTestCase {
  static let index = """
    Package: bash
    Version: 5.2
    Architecture: amd64
    Essential: yes
    Section: shells
    Maintainer: Matthias Klose <doko@debian.org>
    Pre-Depends: libc6 (>= 2.36), libtinfo6 (>= 6)
    Depends: base-files (>= 2.1.12) | debianutils (>= 5.6-0.1)
    Tag: role::program, uitoolkit::ncurses
    Installed-Size: 7164
    Description: GNU Bourne Again SHell
    SHA256: 00000000000000000000000000000000000000000000000000000000000000ff

    Package: zsh
    Version: 5.9
    Architecture: amd64
    Section: shells
    Maintainer: Debian Zsh <zsh@example.org>
    Tag: role::program
    Installed-Size: 2500

    Package: gcc
    Version: 12
    Architecture: amd64
    Section: devel
    Maintainer: M. Klose <doko@debian.org>
    Depends: cpp (= 12), cpp (= 12), gcc-12 (>= 12.2~)
    Recommends: libc6-dev | libc-dev
    Installed-Size: 46

    Package: gcc
    Version: 12
    Architecture: i386
    Section: devel
    Maintainer: M. Klose <doko@debian.org>
    Installed-Size: 46

    """

  private func versions(_ context: ManagedObjectContext) throws -> [String: Int64] {
    var versions: [String: Int64] = [:]
    let coordinator = context.persistentStoreCoordinator
    let store = try XCTUnwrap(coordinator.persistentStores.first)
    for entity in ["Package", "Section", "Maintainer", "Tag", "PackageRelation", "Alternative"] {
      let scope = RequestScope(objectIDSpace: store.space)
      guard case .rows(let rows) = try coordinator.fetch(FetchSpecification(entityName: entity), from: store, scope: scope) else {
        XCTFail("rows are expected of \(entity)")
        continue
      }
      for row in rows { versions["\(entity)/\(row.key)"] = row.version }
    }
    return versions
  }

  func testPackageIndexIsImportedAsAGraph() async throws {
    let context = try await TestStack.context("DebianArchive")
    let summary = try TestStack.importIndex(Self.index, into: context)
    XCTAssertEqual(summary.records, 4)
    func count(_ entity: String, _ predicate: FetchPredicate? = nil) throws -> Int {
      try context.count(for: FetchRequest<ManagedObject>(entityName: entity, predicate: predicate))
    }
    XCTAssertEqual(try count("Package"), 4)
    XCTAssertEqual(try count("Section"), 2)
    XCTAssertEqual(try count("Maintainer"), 2)
    XCTAssertEqual(try count("Tag"), 2)
    XCTAssertEqual(try count("PackageRelation"), 7)
    XCTAssertEqual(try count("Dependency"), 4)
    XCTAssertEqual(try count("Alternative"), 9)
    XCTAssertEqual(try count("Package", .compare("section.name", .equal, "shells")), 2)
    XCTAssertEqual(summary.inserted, 4 + 2 + 2 + 2 + 7 + 9)
    // The first name in the file for an address applies.
    XCTAssertEqual(try count("Package", .compare("maintainer.name", .equal, "Matthias Klose")), 3)
  }

  func testImportingTwiceChangesNothing() async throws {
    let context = try await TestStack.context("DebianArchive")
    try TestStack.importIndex(Self.index, into: context)
    let exported = try TestStack.export(context)
    let versions = try versions(context)
    for batchSize in [1, 2, 100] {
      let summary = try TestStack.importIndex(Self.index, into: context, batchSize: batchSize)
      XCTAssertEqual([summary.inserted, summary.updated, summary.deleted], [0, 0, 0])
    }
    XCTAssertEqual(try TestStack.export(context), exported)
    XCTAssertEqual(try self.versions(context), versions)
  }

  func testOnlyDifferingObjectsAreUpdated() async throws {
    let context = try await TestStack.context("DebianArchive")
    try TestStack.importIndex(Self.index, into: context)
    let before = try versions(context)
    var changed = Self.index.replacingOccurrences(of: "Installed-Size: 2500", with: "Installed-Size: 2600")
    changed = changed.replacingOccurrences(of: "libc6-dev | libc-dev", with: "libc-dev | libc6-dev")
    changed = changed.replacingOccurrences(of: "role::program, uitoolkit::ncurses", with: "role::program")
    let summary = try TestStack.importIndex(changed, into: context)
    // One relation with its two alternatives is rebuilt.
    XCTAssertEqual([summary.inserted, summary.deleted], [3, 1])
    let after = try versions(context)
    XCTAssertEqual(after.values.filter { $0 > RowImage.firstVersion }.count, 1)
    XCTAssertEqual(Set(before.keys).subtracting(after.keys).count, 3)
    XCTAssertTrue(try TestStack.export(context).contains(#""installedSize":2600"#))
  }

  func testExportAndImportRestoreTheGraph() async throws {
    let context = try await TestStack.context("DebianArchive")
    try TestStack.importIndex(Self.index, into: context)
    let exported = try TestStack.export(context)
    let copy = try await TestStack.context("DebianArchive")
    try TestStack.importLines(exported, into: copy)
    XCTAssertEqual(try TestStack.export(copy), exported)
    // Importing into the same store changes nothing.
    let summary = try TestStack.importLines(exported, into: context).summary
    XCTAssertEqual([summary.inserted, summary.updated, summary.deleted], [0, 0, 0])
  }

  func testInvalidStanzasLeaveNothingBehind() async throws {
    let context = try await TestStack.context("DebianArchive")
    XCTAssertThrowsError(try TestStack.importIndex(Self.index + "\nPackage: x\nVersion: 1\n", into: context)) { error in
      XCTAssertEqual((error as? InputError)?.key, "Architecture")
    }
    XCTAssertEqual(try context.count(for: FetchRequest<ManagedObject>(entityName: "Package")), 0)
  }

  func testStoresOfAnotherModelAreRejected() async throws {
    let context = try await TestStack.context("Messenger")
    XCTAssertThrowsError(try TestStack.importIndex(Self.index, into: context)) { XCTAssertEqual(ExitReport($0).status, .badData) }
  }
}
