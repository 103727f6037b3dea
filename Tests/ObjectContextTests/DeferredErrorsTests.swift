import ObjectContext
import ObjectStore
import XCTest

/// Errors from calls that cannot throw are thrown by one later fetch, and by the next save in any case.
final class DeferredErrorsTests: XCTestCase {
  private struct Problem: Error, Equatable {
    let number: Int
  }

  private func thrown(_ body: () throws -> Void) -> Int? {
    do { try body() } catch { return (error as? Problem)?.number }
    return nil
  }

  func testFirstErrorIsKeptUntilReported() {
    var errors = DeferredErrors()
    XCTAssertNil(errors.pending)
    errors.record(Problem(number: 1))
    errors.record(Problem(number: 2))
    XCTAssertEqual(errors.count, 2, "Every error counts, also those that are not kept.")
    XCTAssertEqual((errors.pending as? Problem)?.number, 1)
    XCTAssertEqual(thrown { try errors.throwRecorded() }, 1)
    errors.record(Problem(number: 3))
    XCTAssertEqual((errors.pending as? Problem)?.number, 3, "The first error has been reported.")
  }

  func testErrorIsThrownByOneFetchAndTheNextSave() {
    var errors = DeferredErrors()
    XCTAssertNil(thrown { try errors.throwRecorded() })
    errors.record(Problem(number: 1))
    XCTAssertEqual(thrown { try errors.throwRecorded() }, 1)
    XCTAssertNil(thrown { try errors.throwRecorded() })
    XCTAssertEqual(thrown { try errors.settle() }, 1)
    XCTAssertNil(errors.pending)
    XCTAssertNil(thrown { try errors.settle() })
  }

  func testClearedErrorsAreNotReported() {
    var errors = DeferredErrors()
    errors.record(Problem(number: 1))
    errors.forget()
    XCTAssertNil(errors.pending)
    XCTAssertNil(thrown { try errors.throwRecorded() })
    XCTAssertEqual(errors.count, 1, "Who compares counts sees that something went wrong meanwhile.")
  }

  func testOnlyCancellationErrorsAreCleared() {
    var errors = DeferredErrors()
    errors.record(Problem(number: 1))
    errors.forgetCancellation()
    XCTAssertNotNil(errors.pending)
    errors.forget()
    errors.record(StoreError(.cancelled, "The request was canceled.", operation: .fault))
    errors.forgetCancellation()
    XCTAssertNil(errors.pending)
  }

  func testInvalidPolicyIsReportedByEverySave() throws {
    let context = ManagedObjectContext(coordinator: try PersistentStoreCoordinator(managedObjectModel: Library.model))
    context.mergePolicy = MergePolicy.error.resolving("Nothing", by: .overwrite)
    let mistakes = try XCTUnwrap(context.pendingError as? MergePolicyError)
    var errors = DeferredErrors()
    XCTAssertNoThrow(try errors.checkPolicy())
    errors.setPolicyIssues(mistakes)
    XCTAssertTrue(errors.pending is MergePolicyError)
    for _ in 0..<2 { XCTAssertThrowsError(try errors.checkPolicy()) }
    errors.record(Problem(number: 1))
    XCTAssertEqual((errors.pending as? Problem)?.number, 1)
    errors.forget()
    XCTAssertTrue(errors.pending is MergePolicyError, "It stays until another policy is set.")
    errors.setPolicyIssues(nil)
    XCTAssertNil(errors.pending)
  }
}
