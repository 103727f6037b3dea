import SyncCore
import XCTest
import _SyncSimulation

/// Devices with different versions of the model.
final class ModelVersionTests: XCTestCase {
  private static let earlier = SyncModel(entities: Scenario.model.entities.filter { $0.key != Scenario.folder })

  func testAnObjectIsHiddenUntilTheModelHasTheEntityThatItRequires() throws {
    let scenario = Scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    try b.adoptModel(Self.earlier)
    let folder = try a.insertFolder("Home")
    let note = try a.insertNote("Milk", in: folder)
    let cover = try a.insertCover(of: folder)
    for device in [a, b, a] { try device.synchronize() }
    XCTAssertNil(b.objects[folder])
    XCTAssertNil(b.objects[note], "it would have no folder")
    XCTAssertEqual(b.objects[cover]?.values, [Scenario.coverFolder: .null])
    // What the device cannot show stays as it is.
    XCTAssertNotNil(a.objects[note])
    XCTAssertEqual(a.objects[cover]?.values[Scenario.coverFolder], .reference(folder))
    XCTAssertTrue(try b.isIdle())
    try b.adoptModel(Scenario.model)
    XCTAssertEqual(b.objects, a.objects)
  }

  func testAHiddenObjectIsDeletedWithItsDestination() throws {
    let scenario = Scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    try b.adoptModel(Self.earlier)
    let folder = try a.insertFolder("Home")
    try a.insertNote("Milk", in: folder)
    for device in [a, b] { try device.synchronize() }
    try a.delete(folder, Scenario.folder)
    for device in [a, b, a, b] { try device.synchronize() }
    XCTAssertEqual(scenario.liveCount, 0)
    try b.adoptModel(Scenario.model)
    XCTAssertEqual(b.objects, [:])
  }

  func testADeletionThatWasNotSentIsDeniedByALinkThatDeniesItInALaterVersion() throws {
    let scenario = Scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    var earlier = Scenario.model
    earlier.entities[Scenario.folder]?.updateWins = true
    var later = earlier
    later.entities[Scenario.mentions] = .link(denying: [.linkDestination])
    try a.adoptModel(earlier)
    try b.adoptModel(later)
    let home = try a.insertFolder("Home")
    let note = try a.insertNote("Milk", in: home)
    let folder = try a.insertFolder("Garden")
    try a.link(note, folder)
    try a.delete(folder, Scenario.folder)
    try a.adoptModel(later)
    XCTAssertNotNil(a.objects[folder], "the states alone decide, also before they are sent")
    XCTAssertEqual(a.links, [[note, folder]])
    for device in [a, b, a] { try device.synchronize() }
    XCTAssertEqual(a.objects, b.objects)
  }
}
