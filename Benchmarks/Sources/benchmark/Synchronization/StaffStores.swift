import BenchmarkData
import CipherData
import CipherDataSync
import Foundation
import StaffClasses

/// Stores of departments and employees, whose values follow from their numbers. There are a hundred employees in a department.
@MainActor
enum StaffStores {
  private static let employeesInDepartment = 100
  /// The number of employees in one save.
  private static let batch = 2_000

  private static func description(_ path: String, cacheSize: Int) -> PersistentStoreDescription {
    var description = PersistentStoreDescription(url: URL(fileURLWithPath: path), key: .databaseKey(SecretBytes(UInt8(0)..<32)))
    (description.durability, description.cacheSize) = (.fast, cacheSize)
    return description
  }

  /// Opens a store that stays on the device, or creates an empty one.
  ///
  /// - Parameters:
  ///   - history: The level of its history, if it has one. Then it has stable IDs too, as a synchronized store does.
  ///   - cacheSize: The size of a connection's page cache in bytes.
  static func open(_ path: String, history: HistoryLevel? = nil, cacheSize: Int = 64 << 20) async throws -> PersistentContainer {
    var description = description(path, cacheSize: cacheSize)
    if let history {
      (description.historyTracking, description.historyLevel, description.tracksObjectIdentity) = (true, history, true)
    }
    let container = try PersistentContainer(
      name: "staff", managedObjectModel: StaffModel.managedObjectModel, classes: StaffModel.classes,
      persistentStoreDescriptions: [description])
    try await container.loadPersistentStores()
    return container
  }

  /// Opens a store that is synchronized with a hub as soon as it has an account, or creates an empty one.
  static func open(_ path: String, hub: String, cacheSize: Int = 64 << 20) async throws -> PersistentCloudContainer {
    var description = description(path, cacheSize: cacheSize)
    description.cloudOptions = CloudOptions(hubURL: URL(fileURLWithPath: hub), deviceName: "benchmark")
    let container = try PersistentCloudContainer(
      name: "staff", managedObjectModel: StaffModel.managedObjectModel, classes: StaffModel.classes,
      persistentStoreDescriptions: [description])
    try await container.loadPersistentStores()
    return container
  }

  /// The files of a store or a hub, by their endings.
  private static let endings = ["", "-wal", "-shm", "-journal", "-sync", ".keys", ".key", ".key.keys"]

  static func remove(_ path: String) { for ending in endings { unlink(path + ending) } }

  /// The size of the files of a store or a hub, in bytes.
  static func size(_ path: String) -> Int {
    endings.reduce(0) { sum, ending in
      sum + (((try? FileManager.default.attributesOfItem(atPath: path + ending))?[.size] as? Int) ?? 0)
    }
  }

  // MARK: Objects

  /// Inserts departments and employees, and saves and resets after each batch.
  ///
  /// - Parameter count: The approximate number of objects, departments among them.
  static func fill(_ container: PersistentContainer, count: Int) throws {
    let context = container.newBackgroundContext()
    let employees = count - count / (employeesInDepartment + 1)
    try context.perform {
      var department: Department?
      for number in 0..<employees {
        if number % employeesInDepartment == 0 {
          let new = Department(context: context)
          (new.name, new.floor) = ("Department \(number / employeesInDepartment)", Int64(number / employeesInDepartment % 40))
          department = new
        }
        let employee = Employee(context: context)
        let random = bench_mix(0, UInt64(number))
        employee.name = "Employee \(random % 1_000_000_000) \(number)"
        employee.email = "employee.\(number)@staff.example"
        employee.salary = Double(random % 100_000)
        employee.hired = Date(timeIntervalSinceReferenceDate: Double(random % 700_000_000))
        employee.number = Int64(number)
        employee.department = department
        // Departments are not divided, so that each save refers to its own objects only.
        if (number + 1) % batch == 0 {
          try context.save()
          context.reset()
          department = nil
        }
      }
      try context.save()
    }
  }

  /// Returns the checksum of all objects.
  static func checksum(_ container: PersistentContainer) throws -> UInt64 {
    let context = container.newBackgroundContext()
    return try context.perform {
      var sum: UInt64 = 0
      try context.enumerateBatches(of: Employee.all) { employees, _ in
        for employee in employees {
          let text = UInt64(employee.name.utf8.count + employee.email.utf8.count)
          let floor = UInt64(bitPattern: employee.department?.floor ?? -1)
          sum &+= bench_mix(UInt64(bitPattern: employee.number), bench_mix(text, bench_mix(employee.salary.bitPattern, floor)))
        }
      }
      return sum &+ UInt64(try context.count(for: Department.all))
    }
  }
}
