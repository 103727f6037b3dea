import CipherData
import CipherDataSync
import Foundation
import XCTest
import _TestSupport

/// Large values of an application whose devices download them at once, on request, or within a budget.
final class CloudAssetTests: CloudTestCase {
  private static let photos = ManagedObjectModel {
    Entity("Photo") {
      Attribute("name", .string)
      Attribute("image", .binary).externalStorage()
    }
  }

  private func container(_ name: String, _ policy: AssetPolicy) async throws -> PersistentCloudContainer {
    var description = try description(name)
    description.cloudOptions?.assetPolicy = policy
    return try await container([description], model: Self.photos)
  }

  private func image(_ seed: UInt8) -> Data { Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 31) &+ seed }) }

  /// Returns two devices with photos, the first of which has saved them.
  private func devices(_ policy: AssetPolicy, count: UInt8 = 1) async throws -> (PersistentCloudContainer, PersistentCloudContainer) {
    let one = try await container("one", .eager)
    let key = try await one.createAccount()
    let images = (0..<count).map(image)
    try await one.performBackgroundTask { context in
      for (number, image) in images.enumerated() {
        let photo = try context.insertObject(entityName: "Photo")
        try photo.setValue("\(number)", forKey: "name")
        try photo.setValue(image, forKey: "image")
      }
      try context.save()
    }
    try await one.synchronize()
    let other = try await container("other", policy)
    try await other.joinAccount(recoveryKey: key)
    try await other.synchronize()
    return (one, other)
  }

  private func photo(_ name: String, in container: PersistentCloudContainer) async throws -> ManagedObjectID {
    try await container.performBackgroundTask { context in
      let request = FetchRequest<ManagedObject>(entityName: "Photo", predicate: .compare("name", .equal, name))
      return try XCTUnwrap(context.fetch(request).first).objectID
    }
  }

  private func storedImage(_ name: String, in container: PersistentCloudContainer) async throws -> Data? {
    let id = try await photo(name, in: container)
    return try await container.performBackgroundTask { try $0.object(with: id).value(forKey: "image") as? Data }
  }

  func testAllLargeValuesAreDownloadedByDefault() async throws {
    let (one, other) = try await devices(CloudOptions(hubURL: try file("hub.store")).assetPolicy)
    let image = try await storedImage("0", in: other)
    XCTAssertEqual(image, self.image(0))
    let state = try await other.assetState(of: photo("0", in: other), attribute: "image")
    XCTAssertEqual(state, .onDevice)
    for container in [one, other] {
      let isEqual = try await container.verifyState()
      XCTAssertTrue(isEqual)
      try container.close()
    }
  }

  func testALargeValueIsLoadedOnDemand() async throws {
    let (one, other) = try await devices(.onDemand)
    let id = try await photo("0", in: other)
    var image = try await storedImage("0", in: other)
    XCTAssertNil(image)
    var state = try await other.assetState(of: id, attribute: "image")
    XCTAssertEqual(state, .missing(size: 200_000))
    let status = try await other.status()
    XCTAssertEqual(status.missingValues, 1)
    XCTAssertEqual(status.missingBytes, 200_000)
    try await other.loadAsset(of: id, attribute: "image")
    image = try await storedImage("0", in: other)
    XCTAssertEqual(image, self.image(0))
    state = try await other.assetState(of: id, attribute: "image")
    XCTAssertEqual(state, .onDevice)
    // Nothing happens again, also without the hub.
    try moveHub(to: "away")
    try await other.loadAsset(of: id, attribute: "image")
    for container in [one, other] { try container.close() }
  }

  func testAMissingValueIsAnErrorOfTheAttribute() async throws {
    let (one, other) = try await devices(.onDemand)
    let id = try await photo("0", in: other)
    try one.close()
    try FileManager.default.moveItem(at: file("hub.store"), to: file("away"))
    do {
      try await other.loadAsset(of: id, attribute: "image")
      XCTFail("There was no error.")
    } catch let error as SyncError {
      XCTAssertEqual(error.code, .assetMissing)
      XCTAssertTrue(error.message.hasPrefix("The value of Photo.image of the object "), error.message)
      XCTAssertNotNil(error.underlying)
    }
    // The object can be changed nevertheless.
    try await other.performBackgroundTask { context in
      try context.object(with: id).setValue("renamed", forKey: "name")
      try context.save()
    }
    try FileManager.default.moveItem(at: file("away"), to: file("hub.store"))
    try await other.loadAsset(of: id, attribute: "image")
    let image = try await storedImage("renamed", in: other)
    XCTAssertEqual(image, self.image(0))
    try other.close()
  }

  func testABudgetRemovesWhatWasNeededLeastRecently() async throws {
    let (one, other) = try await devices(.budget(bytes: 450_000), count: 3)
    for name in ["0", "1", "2"] {
      try await other.loadAsset(of: photo(name, in: other), attribute: "image")
      let image = try await storedImage(name, in: other)
      XCTAssertEqual(image, self.image(UInt8(name) ?? 0))
      try await Task.sleep(for: .milliseconds(3))
    }
    let state = try await other.assetState(of: photo("0", in: other), attribute: "image")
    XCTAssertEqual(state, .missing(size: 200_000))
    for container in [one, other] {
      let isEqual = try await container.verifyState()
      XCTAssertTrue(isEqual)
      try container.close()
    }
  }

  func testAnAttributeThatHasNoLargeValuesIsRefused() async throws {
    let (one, other) = try await devices(.eager)
    let id = try await photo("0", in: one)
    for attribute in ["name", "unknown"] {
      do {
        _ = try await one.assetState(of: id, attribute: attribute)
        XCTFail("There was no error.")
      } catch let error as KeyValueError { XCTAssertEqual(error.key, attribute) }
    }
    for container in [one, other] { try container.close() }
  }
}
