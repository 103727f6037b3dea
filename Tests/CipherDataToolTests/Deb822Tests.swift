import CipherDataToolKit
import Foundation
import XCTest

/// Stanzas, relations, tags and maintainers of Debian control files.
final class Deb822Tests: XCTestCase {
  private func records(_ text: String, blockSize: Int = 16) throws -> [PackageRecord] {
    let folder = try TemporaryFolder()
    var reader = Deb822Reader(LineReader(try ByteSource(path: folder.file("index", text).path), blockSize: blockSize))
    var records: [PackageRecord] = []
    while let stanza = try reader.next() {
      if let record = try PackageRecord(stanza) { records.append(record) }
    }
    return records
  }

  func testAStanzaBecomesAPackage() throws {
    let record = try XCTUnwrap(
      records(
        """
        # a comment

        package: hello
        Version: 2.10-3
        Architecture: amd64
        Essential: yes
        Priority: optional
        Installed-Size: 280
        Size: 53080
        Section: devel
        Maintainer: Santiago Vila <sanvila@debian.org>,
        Homepage: https://www.gnu.org/software/hello/
        SHA256: 0B05ecadcbd6d34e6a6d8f5b0a2b1f8d6fd5f7d0e0f1a2b3c4d5e6f708192a3b
        Description: example package
         A longer text
         .
         over lines.
        Tag: role::program,
         implemented-in::{c,perl}, role::program
        Depends: libc6 (>= 2.34)

        """
      ).first)
    XCTAssertEqual(record.name, "hello")
    XCTAssertEqual(record.version, "2.10-3")
    XCTAssertEqual(record.architecture, "amd64")
    XCTAssertTrue(record.essential)
    XCTAssertEqual(record.priority, "optional")
    XCTAssertEqual(record.installedSize, 280)
    XCTAssertEqual(record.downloadSize, 53_080)
    XCTAssertEqual(record.section, "devel")
    XCTAssertEqual(record.maintainer, MaintainerRecord(name: "Santiago Vila", email: "sanvila@debian.org"))
    XCTAssertEqual(record.homepage, "https://www.gnu.org/software/hello/")
    XCTAssertEqual(record.sha256?.prefix(3), [0x0B, 0x05, 0xEC])
    XCTAssertEqual(record.summary, "example package")
    XCTAssertEqual(record.tags, ["role::program", "implemented-in::c", "implemented-in::perl"])
    XCTAssertEqual(
      record.relations,
      [
        RelationRecord(
          kind: .depends, alternatives: [AlternativeRecord(packageName: "libc6", comparison: ">=", version: "2.34")])
      ])
  }

  func testRelationsKeepAlternativesInOrderAndLeaveQualifiersOut() throws {
    let record = try XCTUnwrap(
      records(
        """
        Package: a
        Version: 1
        Architecture: all
        Suggests: x
        Pre-Depends: b:any [amd64 i386] (<<2) <!nocheck> | c(=1:1.0-1~),d ,
         e | f |
         g
        """
      ).first)
    XCTAssertEqual(
      record.relations,
      [
        RelationRecord(
          kind: .preDepends,
          alternatives: [
            AlternativeRecord(packageName: "b", comparison: "<<", version: "2"),
            AlternativeRecord(packageName: "c", comparison: "=", version: "1:1.0-1~"),
          ]),
        RelationRecord(kind: .preDepends, alternatives: [AlternativeRecord(packageName: "d")]),
        RelationRecord(kind: .preDepends, alternatives: ["e", "f", "g"].map { AlternativeRecord(packageName: $0) }),
        RelationRecord(kind: .suggests, alternatives: [AlternativeRecord(packageName: "x")]),
      ])
  }

  func testMalformedFieldsNameLineAndField() throws {
    let head = "Package: a\nVersion: 1\nArchitecture: all\n"
    let cases: [(String, Int, String)] = [
      (head + "Depends: b (>= )\n", 1, "depends"),
      (head + "Depends: b (? 1)\n", 1, "depends"),
      (head + "Depends: b |\n", 1, "depends"),
      (head + "Installed-Size: many\n", 1, "Installed-Size"),
      (head + "SHA256: 12\n", 1, "SHA256"),
      ("\n\nPackage: a\nVersion: 1\n", 3, "Architecture"),
      (head + "version: 2\n", 4, "version"),
    ]
    for (text, line, key) in cases {
      XCTAssertThrowsError(try records(text), text) { error in
        XCTAssertEqual((error as? InputError)?.line, line, text)
        XCTAssertEqual((error as? InputError)?.key, key, text)
      }
    }
    for (text, line) in [(" continued\n", 1), ("Package: a\nno field\n", 2)] {
      XCTAssertThrowsError(try records(text)) { XCTAssertEqual(($0 as? InputError)?.line, line) }
    }
  }

  func testPackagesThatAreNotInstalledAreSkipped() throws {
    XCTAssertEqual(
      try records("Package: gone\nStatus: unknown ok not-installed\n\nPackage: a\nVersion: 1\nArchitecture: all").map(\.name), ["a"])
  }

  func testBlocksOfAnySizeGiveTheSameStanzas() throws {
    let text = (1...200).map { "Package: p\($0)\r\nVersion: 1.\($0)\nArchitecture: all\nDepends: q\($0)\n , r\n" }.joined(
      separator: "\n \n")
    let expected = try records(text, blockSize: 1 << 16)
    XCTAssertEqual(expected.count, 200)
    XCTAssertEqual(expected[41].relations.count, 2)
    for blockSize in [16, 17, 63, 4096] { XCTAssertEqual(try records(text, blockSize: blockSize), expected) }
  }

  /// Comparing each name with each other one would take minutes.
  func testAStanzaMayHaveAHundredThousandFields() throws {
    let fields = (0..<100_000).map { "X-Field-\($0): \($0)\n" }.joined()
    let record = try XCTUnwrap(records("Package: a\nVersion: 1\n\(fields)Architecture: all\n", blockSize: 1 << 16).first)
    XCTAssertEqual(record.architecture, "all")
  }

  func testAFieldThatOccursTwiceIsFoundAmongMany() throws {
    for (count, again) in [(10, "x-FIELD-3"), (100, "x-FIELD-3"), (100, "x-FIELD-70"), (100, "X-Field-99"), (63, "PACKAGE")] {
      let fields = (0..<count).map { "X-Field-\($0): \($0)\n" }.joined()
      XCTAssertThrowsError(try records("Package: a\n\(fields)\(again): 1\n", blockSize: 1 << 16), again) { error in
        XCTAssertEqual((error as? InputError)?.line, count + 2, again)
        XCTAssertEqual((error as? InputError)?.key, again)
      }
    }
    // The count restarts with the next stanza.
    let stanza = "Package: a\nVersion: 1\nArchitecture: all\n" + (0..<100).map { "X-Field-\($0): \($0)\n" }.joined()
    XCTAssertEqual(try records(stanza + "\n" + stanza, blockSize: 1 << 16).count, 2)
  }

  func testAddressWithoutANameIsAMaintainer() throws {
    let record = try XCTUnwrap(records("Package: a\nVersion: 1\nArchitecture: all\nMaintainer: x@example.org\n").first)
    XCTAssertEqual(record.maintainer, MaintainerRecord(name: nil, email: "x@example.org"))
  }
}
