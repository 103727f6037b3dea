import XCTest
import _StoreSpecification

final class InMemoryStoreSpecificationTests: XCTestCase {
  func testTheInMemoryStoreMeetsTheSpecification() {
    verify(InMemoryStoreUnderTest(), meets: StoreSpecification.storeSuites)
  }
}
