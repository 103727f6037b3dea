import CoreData
import Foundation
import XCTest

/// The application's own class of an entity with generated properties.
public class Reader: NSManagedObject {
  var greeting: String { "Hello \(name ?? "?")" }
}

/// Generated classes of the model, as from Xcode's editor.
final class GeneratedClassTests: XCTestCase {
  func testClassesAndPropertiesMatchTheModel() throws {
    try LibraryStack.with { stack in
      let reader = Reader(context: stack.context)
      reader.name = "Ada"
      XCTAssertEqual(reader.greeting, "Hello Ada")
      let loan = Loan(context: stack.context)
      XCTAssertEqual(loan.count, 1)
      (loan.due, loan.in) = (Date(timeIntervalSinceReferenceDate: 5), "hall")
      let long = LongLoan(context: stack.context)
      (long.reason, long.count) = ("study", 3)
      reader.addToLoans(loan)
      reader.insertIntoLoans(long, at: 0)
      try stack.context.save()
      stack.context.reset()
      let request: NSFetchRequest<Loan> = Loan.fetchRequest()
      request.sortDescriptors = [NSSortDescriptor(keyPath: \Loan.count, ascending: true)]
      let found = try stack.context.fetch(request)
      XCTAssertEqual(found.map(\.count), [1, 3])
      XCTAssertEqual(found.first?.in, "hall")
      XCTAssertEqual((found.last as? LongLoan)?.reason, "study")
      XCTAssertEqual((found.first?.reader?.loans?.array as? [Loan])?.map(\.count), [3, 1])
      XCTAssertEqual(Dictionary(grouping: found, by: \.id).count, 2)
      let byReason = NSSortDescriptor(keyPath: \LongLoan.count, ascending: true)
      XCTAssertEqual(byReason.key, "count")
    }
  }

  func testFetchReturnsOnlyObjectsOfTheRequestedClass() throws {
    try LibraryStack.with { stack in
      _ = LongLoan(context: stack.context)
      try stack.context.save()
      let request = NSFetchRequest<LongLoan>(entityName: "Loan")
      XCTAssertEqual(try stack.context.fetch(request).map(\.count), [1])
      _ = Loan(context: stack.context)
      try stack.context.save()
      XCTAssertThrowsError(try stack.context.fetch(request))
      let objects = try stack.context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Loan"))
      XCTAssertEqual(objects.count, 2)
    }
  }
}
