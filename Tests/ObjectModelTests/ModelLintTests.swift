import Foundation
import ObjectModel
import XCTest

/// Valid models with likely mistakes.
final class ModelLintTests: XCTestCase {
  private func findings(@ModelBuilder _ components: () -> [any ModelComponent]) -> [String] {
    ModelLint.findings(in: ManagedObjectModel(components)).map(\.description)
  }

  private func assertOne(_ findings: [String], _ parts: String..., line: UInt = #line) {
    XCTAssertEqual(findings.count, 1, findings.joined(separator: "\n"), line: line)
    for part in parts { XCTAssertTrue(findings.first?.contains(part) ?? false, "\(part): \(findings)", line: line) }
  }

  private func scalar(_ name: String, _ change: (inout AttributeDescription) -> Void = { _ in }) -> PropertyDescription {
    var attribute = AttributeDescription(name: name, type: .integer32, isOptional: true)
    change(&attribute)
    return .attribute(attribute)
  }

  func testCleanModelsHaveNoFindings() {
    XCTAssertEqual(
      findings {
        Entity("Author", class: "Author") {
          Attribute("name", .string).required()
          Relationship("books", toMany: "Book", inverse: "author").onDelete(.cascade)
          Unique("name")
        }
        Entity("Book", class: "Book") {
          Attribute("title", .string)
          Relationship("author", to: "Author", inverse: "books").required()
          Index("byTitle", on: "title")
        }
      }, [])
  }

  func testNamesThatDifferInCaseOnlyAreFound() {
    assertOne(
      findings {
        Entity("Book")
        Entity("book")
      }, "book: the name differs from that of 'Book' only in case")
    assertOne(
      findings {
        Entity("A") { Attribute("name", .string) }
        Entity("B", parent: "A") { Attribute("Name", .string) }
      }, "B.Name: the name differs from that of 'name' only in case")
  }

  func testConflictingClassesAreFound() {
    assertOne(
      findings {
        Entity("A", class: ".Same")
        Entity("B", class: "Module.Same")
      }, "B: 'A' also has the class 'Same'")
    assertOne(findings { Entity("Set", class: "Set").codeGeneration(.classDefinition) }, "hides Swift's type")
    XCTAssertEqual(findings { Entity("Set", class: "Set") }, [])
    XCTAssertEqual(
      findings {
        Entity("A", class: "NSManagedObject")
        Entity("B", class: "NSManagedObject")
      }, [])
  }

  func testIneffectiveAttributeSettingsAreFound() {
    assertOne(findings { Entity("A") { scalar("x") } }, "A.x: the attribute is optional, has no default value and is a scalar")
    XCTAssertEqual(
      findings {
        Entity("A") {
          scalar("boxed") { $0.usesScalarValueType = false }
          scalar("has") { $0.defaultValue = .int(1) }
          scalar("must") { $0.isOptional = false }
          scalar("raw") { $0.valueClassName = "State" }
        }
      }, [])
    assertOne(
      findings { Entity("A") { Attribute("on", .date).initially(Date(timeIntervalSinceReferenceDate: 0)) } },
      "is a fixed date, not the time")
    assertOne(findings { Entity("A") { Attribute("text", .string).externalStorage() } }, "only Binary and Transformable attributes")
    assertOne(
      findings { Entity("A") { Attribute("box", transforming: [String].self, by: "NSKeyedUnarchiveFromData") } },
      "of any class that the data names")
    assertOne(
      findings { Entity("A") { Attribute("text", .string).userInfo("swiftUnknownCase", "none") } }, "no effect without a Swift type")
    var indexed = AttributeDescription(name: "bytes", type: .binary, isOptional: true)
    indexed.isIndexed = true
    assertOne(findings { Entity("A") { PropertyDescription.attribute(indexed) } }, "cannot be indexed; disable the option")
  }

  func testIndexesOfConstraintsAreNotWrittenTwice() {
    assertOne(
      findings {
        Entity("A") {
          Attribute("x", .string)
          Attribute("y", .string)
          Unique("x", "y")
          Index("byX", on: "x")
          Index("byY", on: "y")
          Index("down", .descending("x"))
        }
      }, "A.byX: the uniqueness constraint (x, y) has an index that starts with the same properties")
  }

  func testCircularCascadesAreFound() {
    let found = findings {
      Entity("A") {
        Relationship("b", to: "B", inverse: "a").onDelete(.cascade)
        Relationship("c", to: "C", inverse: "a")
      }
      Entity("B") {
        Relationship("a", to: "A", inverse: "b")
        Relationship("c", toMany: "C", inverse: "b").onDelete(.cascade)
      }
      Entity("C") {
        Relationship("a", toMany: "A", inverse: "c").onDelete(.cascade)
        Relationship("b", to: "B", inverse: "c")
      }
    }
    assertOne(found, "A.b: the cascade rules form a cycle (A.b, B.c, C.a)")
    // A tree is not a cycle.
    XCTAssertEqual(
      findings {
        Entity("Folder") {
          Relationship("parent", to: "Folder", inverse: "children")
          Relationship("children", toMany: "Folder", inverse: "parent").onDelete(.cascade)
        }
      }, [])
  }

  func testRelationshipsAcrossConfigurationsAreFound() {
    let found = findings {
      Entity("A") { Relationship("b", to: "B", inverse: "a") }
      Entity("B") { Relationship("a", to: "A", inverse: "b") }
      Configuration("One", entities: "A")
      Configuration("Two", entities: "B")
    }
    XCTAssertEqual(found.count, 2)
    XCTAssertTrue(found[0].hasPrefix("A.b: no configuration has both 'A' and 'B'"))
  }

  func testDanglingRenamingIdentifiersAreFound() {
    let first = ManagedObjectModel { Entity("A") { Attribute("x", .string) } }
    let second = ManagedObjectModel {
      Entity("B") {
        Attribute("y", .string).renamed(from: "x")
        Attribute("z", .string).renamed(from: "w")
      }
      .renamed(from: "A")
      Entity("C").renamed(from: "Gone")
    }
    let bundle = VersionedModel(
      name: "M", versions: [.init(name: "M", model: first), .init(name: "M 2", model: second)], currentVersionName: "M 2")
    let found = ModelLint.findings(in: bundle).map(\.description)
    XCTAssertEqual(found.count, 2, found.joined(separator: "\n"))
    XCTAssertTrue(found[0].hasPrefix("B.z: in the version 'M 2', the renaming identifier 'w' does not match any property"))
    XCTAssertTrue(found[1].hasPrefix("C: in the version 'M 2', the renaming identifier 'Gone' does not match any entity"))
  }

  func testACopyOfAVersionDoesNotHideAMistypedRenamingIdentifier() {
    let first = ManagedObjectModel {
      Entity("Note") {
        Attribute("title", .string)
        Attribute("fixed", .string).renamed(from: "always")
      }
    }
    let second = ManagedObjectModel {
      Entity("Note") {
        Attribute("heading", .string).renamed(from: "titel")
        Attribute("fixed", .string).renamed(from: "always")
      }
    }
    let names = ["M", "M 2", "M 3"]
    let bundle = VersionedModel(
      name: "M", versions: zip(names, [first, second, second]).map { .init(name: $0, model: $1) }, currentVersionName: "M 3")
    let found = ModelLint.findings(in: bundle).map(\.description).filter { $0.contains("renaming") }
    // An identifier that each version has is not a renaming.
    XCTAssertEqual(
      found,
      ["M 2", "M 3"].map {
        "Note.heading: in the version '\($0)', the renaming identifier 'titel' does not match any property of another version; did you mean 'title'?"
      })
    // Two versions may rename by an identifier that is the name of nothing.
    let renamed = [("a", "id"), ("b", "id"), ("b", "id")].map { name, identifier in
      ManagedObjectModel { Entity("Note") { Attribute(name, .string).renamed(from: identifier) } }
    }
    let chain = VersionedModel(
      name: "M", versions: zip(names, renamed).map { .init(name: $0, model: $1) }, currentVersionName: "M 3")
    XCTAssertEqual(ModelLint.findings(in: chain).map(\.description).filter { $0.contains("renaming") }, [])
  }

  func testARenamingIdentifierIsTheFirstName() {
    func version(_ entity: String, _ property: String, from first: (String, String)? = nil) -> ManagedObjectModel {
      var attribute = AttributeDescription(name: property, type: .string)
      attribute.renamingIdentifier = first?.1
      var description = EntityDescription(name: entity, properties: [.attribute(attribute)])
      description.renamingIdentifier = first?.0
      return ManagedObjectModel(entities: [description])
    }
    func findings(_ models: [ManagedObjectModel]) -> [String] {
      let versions = zip(["M", "M 2", "M 3"], models).map { VersionedModel.Version(name: $0, model: $1) }
      return ModelLint.findings(in: VersionedModel(name: "M", versions: versions, currentVersionName: "M 3")).map(\.description).filter {
        $0.contains("renaming")
      }
    }
    let (one, two) = (version("A", "a"), version("B", "b", from: ("A", "a")))
    XCTAssertEqual(
      findings([one, two, version("C", "c", from: ("B", "b"))]),
      [("C", "B", "A"), ("C.c", "b", "a")].map { subject, identifier, first in
        "\(subject): in the version 'M 3', the renaming identifier '\(identifier)' is the later name of '\(first)'; keep the first name as the renaming identifier, so that new and migrated stores identify it alike"
      })
    XCTAssertEqual(findings([one, two, version("C", "c", from: ("A", "a"))]), [])
  }

  func testIndistinguishableVersionsAreFound() {
    let model = ManagedObjectModel { Entity("A") { Attribute("x", .string) } }
    let bundle = VersionedModel(
      name: "M", versions: [.init(name: "M", model: model), .init(name: "M 2", model: model)], currentVersionName: "M 2")
    assertOne(ModelLint.findings(in: bundle).map(\.description), "stores cannot distinguish the version 'M 2' from 'M'")
  }
}
