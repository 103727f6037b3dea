import Foundation
import ObjectModel
import ObjectQuery
import XCTest

/// Requests from a model's templates (row M19).
final class TemplateTests: XCTestCase {
  private var model = ManagedObjectModel(entities: [
    EntityDescription(name: "Book", properties: [.attribute(AttributeDescription(name: "title", type: .string, isOptional: true))])
  ])

  private func add(_ format: String?, _ change: (inout FetchRequestTemplate) -> Void = { _ in }) {
    var template = FetchRequestTemplate(name: "template", entityName: "Book", predicateFormat: format)
    change(&template)
    model.fetchRequestTemplates = [template]
  }

  private func request(_ variables: [String: (any FetchConstantConvertible)?] = [:]) throws -> FetchRequest<ManagedObjectID> {
    try model.fetchRequest(fromTemplate: "template", substitutionVariables: variables)
  }

  func testVariablesGetTheirValues() throws {
    add("title == $TITLE AND NOT title IN {$FIRST, $SECOND}")
    let request = try request(["TITLE": "a", "FIRST": nil, "SECOND": "b", "UNUSED": 4])
    XCTAssertEqual(request.predicate, try FetchPredicate(format: "title == 'a' AND NOT title IN {NULL, 'b'}"))
    XCTAssertEqual(request.entityName, "Book")
    // The same template can be used again with other values.
    XCTAssertEqual(try self.request(["TITLE": nil, "FIRST": "x", "SECOND": "y"]).predicate?.variables, [])
  }

  func testAVariableWithoutAValueIsAnErrorThatNamesIt() throws {
    add("title == $TITLE OR title == $OTHER")
    XCTAssertThrowsError(try request(["OTHER": "x"])) { XCTAssertEqual($0 as? FetchPredicateError, .unsubstitutedVariable(name: "TITLE")) }
    XCTAssertThrowsError(try request()) { XCTAssertEqual($0 as? FetchPredicateError, .unsubstitutedVariable(name: "OTHER")) }
  }

  func testSubqueryVariablesNeedNoValue() throws {
    let predicate = try FetchPredicate(format: "SUBQUERY(tags, $t, $t.name == $NAME AND $t.size > $MIN.size).@count > $COUNT")
    XCTAssertEqual(predicate.variables, ["NAME", "MIN", "COUNT"])
    XCTAssertEqual(predicate.withSubstitutionVariables(["t": "x", "NAME": "n"]).variables, ["MIN", "COUNT"])
  }

  func testTemplateOptionsAreCopied() throws {
    add(nil) { template in
      template.fetchLimit = 3
      template.fetchBatchSize = 20
      template.includesSubentities = false
      template.includesPropertyValues = false
      template.includesPendingChanges = false
      template.returnsObjectsAsFaults = false
      template.returnsDistinctResults = true
    }
    var expected = FetchRequest<ManagedObjectID>(entityName: "Book")
    expected.fetchLimit = 3
    expected.fetchBatchSize = 20
    expected.includesSubentities = false
    expected.includesPropertyValues = false
    expected.includesPendingChanges = false
    expected.returnsObjectsAsFaults = false
    expected.returnsDistinctResults = true
    XCTAssertEqual(try request(), expected)
  }

  func testInvalidDefinitionsThrow() throws {
    add("title ==")
    XCTAssertThrowsError(try request()) { XCTAssertTrue($0 is PredicateFormatError) }
    XCTAssertThrowsError(try model.fetchRequest(fromTemplate: "Template") as FetchRequest<ManagedObjectID>) {
      XCTAssertEqual($0 as? FetchPredicateError, .unknownTemplate(name: "Template", suggestion: "template"))
    }
  }
}
