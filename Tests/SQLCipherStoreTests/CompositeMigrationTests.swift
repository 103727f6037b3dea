import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import XCTest
import _StoreSpecification

@testable import SQLCipherStore

/// A nil composite stays nil. A composite with a value gets the default values of its new parts.
final class CompositeMigrationTests: XCTestCase {
  func testAddedPartGetsItsDefaultWhereTheCompositeHasAValue() throws {
    func model(_ parts: [any EntityComponent], _ others: [any EntityComponent] = []) -> ManagedObjectModel {
      ManagedObjectModel {
        Composite("Address") { parts }
        Entity("Person") {
          Attribute("name", .string)
          Attribute("home", composite: "Address")
          Attribute("office", composite: "Address")
          others
        }
      }
    }
    let older = model([Attribute("city", .string).required(), Attribute("zip", .string), Attribute("fax", .string)])
    func make() throws -> MigratingStore {
      try MigratingStore.make(older) { context in
        try context.make("Person", ["name": "nil"])
        let full = try context.make("Person", ["name": "full"])
        try full.setValue(["city": "Ulm", "zip": "1"], forKey: "home")
        try full.setValue(["city": "Bonn"], forKey: "office")
        try context.make("Person", ["name": "half"]).setValue(["city": "Bern"], forKey: "home")
      }
    }
    func values(_ contents: [String: [String: String]]) -> [String: [String: String]] {
      Dictionary(uniqueKeysWithValues: contents.values.map { ($0["name"] ?? "", $0.filter { $0.key != "name" }) })
    }
    // Adding a part adds a column; removing one as well copies the table.
    for removes in [false, true] {
      let floor = Attribute("floor", .integer16).required().initially(2)
      let fax: [any EntityComponent] = removes ? [] : [Attribute("fax", .string)]
      let store = try make()
      let after = try store.contents(
        model(
          [
            Attribute("city", .string).required(), Attribute("zip", .string).required().initially("0"), floor,
            Attribute("note", .string).initially("x"),
          ] + fax))
      try store.check()
      XCTAssertEqual(
        values(after),
        [
          "nil": [:],
          "full": [
            "home.city": "Ulm", "home.zip": "1", "home.floor": "2", "home.note": "x", "office.city": "Bonn", "office.zip": "0",
            "office.floor": "2",
            "office.note": "x",
          ], "half": ["home.city": "Bern", "home.zip": "0", "home.floor": "2", "home.note": "x"],
        ])
      try store.open(
        model(
          [
            Attribute("city", .string).required(), Attribute("zip", .string).required().initially("0"), floor,
            Attribute("note", .string).initially("x"),
          ] + fax)
      ) { context in
        for person in try context.fetch(FetchRequest<ManagedObject>(entityName: "Person")) where person["home.city"] != nil {
          try person.setValue("later", forKeyPath: "home.note")
          XCTAssertNoThrow(try person.validateForUpdate())
        }
      }
    }
  }

  func testANewCompositeHasItsDefaultsOrNoValue() throws {
    let older = ManagedObjectModel { Entity("Person") { Attribute("name", .string) } }
    let newer = ManagedObjectModel {
      Composite("Whole") {
        Attribute("city", .string).required().initially("Ulm")
        Attribute("floor", .integer16).required().initially(2)
      }
      Composite("Incomplete") {
        Attribute("city", .string).required()
        Attribute("floor", .integer16).required().initially(2)
      }
      Entity("Person") {
        Attribute("name", .string)
        Attribute("home", composite: "Whole")
        Attribute("office", composite: "Incomplete")
      }
    }
    let store = try MigratingStore.make(older) { try $0.make("Person", ["name": "Ann"]) }
    XCTAssertEqual(try store.contents(newer), ["Person/1": ["name": "Ann", "home.city": "Ulm", "home.floor": "2"]])
    try store.check()
  }
}
