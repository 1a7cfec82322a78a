import java.io.*;
import java.net.*;
import java.nio.ByteBuffer;
import java.nio.channels.*;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.security.*;
import java.text.*;
import java.time.ZoneId;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import java.util.logging.*;
import java.util.stream.*;

// The leak battery in Java (battery.h explains it): reports what it sees of each kind of state, and then
// changes the kind that the query names. With "&twice" it then reports that kind again, which shows that a
// process that had served the request before would be seen to have.
public class Battery {
  interface Check { String see() throws Exception; }
  interface Change { void make() throws Exception; }

  static final Map<String, Check> checks = new LinkedHashMap<>();
  static final Map<String, Change> changes = new LinkedHashMap<>();

  static void kind(String name, Check check, Change change) {
    checks.put(name, check);
    changes.put(name, change);
  }

  static int number;
  static final List<Object> list = new ArrayList<>();
  static volatile Object big;
  static final ThreadLocal<String> local = ThreadLocal.withInitial(() -> "fresh");
  static final InheritableThreadLocal<String> inherited = new InheritableThreadLocal<>();
  static final AtomicInteger atomic = new AtomicInteger();
  static final byte[] bytes = new byte[1 << 20];
  static final Object lock = new Object();
  static final PrintStream out = System.out, err = System.err;
  static ExecutorService pool;
  static ByteBuffer direct = ByteBuffer.allocateDirect(1 << 16);

  static class Lazy {
    static int loaded = ++number;
    static void touch() { loaded += 5; }
  }

  // The compiler's threads read their control group now and then.
  static boolean isOurs(String name) {
    try {
      return Integer.parseInt(name) < 400 && !Files.readSymbolicLink(Path.of("/proc/self/fd/" + name)).startsWith("/sys");
    } catch (IOException e) {
      return false;
    }
  }

  static String descriptors() {
    return "" + Arrays.stream(new File("/proc/self/fd").list()).filter(Battery::isOurs).count();
  }

  static String threads() {
    return Thread.getAllStackTraces().keySet().stream()
        .map(t -> t.getName() + ":" + t.getPriority() + ":" + t.isDaemon()).sorted().collect(Collectors.joining(","));
  }

  static String status(String wanted) throws IOException {
    return Files.readAllLines(Path.of("/proc/self/status")).stream().filter(l -> l.startsWith(wanted))
        .collect(Collectors.joining());
  }

  static String run(String... command) throws Exception {
    Process p = new ProcessBuilder(command).redirectErrorStream(true).start();
    p.getOutputStream().close();
    String said = new String(p.getInputStream().readAllBytes()).trim() + p.waitFor();
    p.getInputStream().close(); // else another thread does so, later
    p.getErrorStream().close();
    return said;
  }

  static void sleeper(boolean isDaemon, String name) {
    Thread t = new Thread(() -> { for (;;) { try { Thread.sleep(100000); } catch (InterruptedException e) { } } }, name);
    t.setDaemon(isDaemon);
    t.start();
  }

  static void kinds() throws Exception {
    // ---- what the language keeps ----
    kind("static_field", () -> "" + number, () -> number = 7);
    kind("static_list", () -> list.toString(), () -> list.add("left"));
    kind("static_array", () -> "" + Arrays.hashCode(bytes), () -> Arrays.fill(bytes, (byte) 1));
    kind("atomic", () -> "" + atomic, () -> atomic.set(9));
    kind("class_initialized", () -> "" + number, () -> Lazy.touch());
    kind("thread_local", () -> local.get(), () -> local.set("left"));
    kind("inheritable", () -> "" + inherited.get(), () -> inherited.set("left"));
    kind("direct_memory", () -> "" + direct.get(5), () -> direct.put(5, (byte) 3));
    kind("heap", () -> "" + (Runtime.getRuntime().totalMemory() > 0), () -> {
      for (int i = 0; i < 2000; ++i) big = new byte[1 << 16];
    });
    kind("collected", () -> "" + list.size(), () -> { list.add(new int[1000]); System.gc(); System.gc(); });
    kind("compiled", () -> "" + number, () -> { for (int i = 0; i < 2000000; ++i) number = (number * 31 + i) & 3; number = 1; });
    kind("interned", () -> "" + ("le" + atomic).intern().length(), () -> ("left" + number).intern());
    kind("class_loaded", () -> "" + list.size(), () -> {
      byte[] code = Battery.class.getResourceAsStream("Battery.class").readAllBytes();
      list.add(new ClassLoader() { Class<?> define() { return defineClass(null, code, 0, code.length); } }.define());
    });
    kind("lambda", () -> "" + list.size(), () -> { Function0 f = () -> 5; list.add(f.get()); });
    // ---- what the library keeps ----
    kind("property", () -> "" + System.getProperty("left"), () -> System.setProperty("left", "x"));
    kind("property_cleared", () -> System.getProperty("line.separator").length() + "" + System.getProperty("java.io.tmpdir"),
        () -> System.clearProperty("java.io.tmpdir"));
    kind("locale", () -> Locale.getDefault() + String.format("%,.2f", 1234.5), () -> Locale.setDefault(Locale.GERMANY));
    kind("time_zone", () -> TimeZone.getDefault().getID() + ZoneId.systemDefault(),
        () -> TimeZone.setDefault(TimeZone.getTimeZone("Asia/Tokyo")));
    kind("out", () -> "" + (System.out == out),
        () -> System.setOut(new PrintStream(System.out, true, "UTF-16")));
    kind("err", () -> "" + (System.err == err), () -> System.setErr(new PrintStream(new ByteArrayOutputStream())));
    kind("in", () -> System.in.available() + "", () -> System.setIn(new ByteArrayInputStream(new byte[3])));
    kind("in_read", () -> "" + System.in.available(), () -> System.in.readNBytes(3));
    kind("uncaught", () -> "" + Thread.getDefaultUncaughtExceptionHandler(),
        () -> Thread.setDefaultUncaughtExceptionHandler((t, e) -> { }));
    kind("thread_name", () -> Thread.currentThread().getName(), () -> Thread.currentThread().setName("left"));
    kind("thread_priority", () -> "" + Thread.currentThread().getPriority(), () -> Thread.currentThread().setPriority(2));
    kind("context_loader", () -> "" + (Thread.currentThread().getContextClassLoader() != null),
        () -> Thread.currentThread().setContextClassLoader(null));
    kind("interrupted", () -> "" + Thread.currentThread().isInterrupted(), () -> Thread.currentThread().interrupt());
    kind("logger", () -> Logger.getLogger("x").getLevel() + "" + LogManager.getLogManager().getLogger("").getHandlers().length,
        () -> { Logger.getLogger("x").setLevel(Level.FINE); list.add(Logger.getLogger("x"));
                LogManager.getLogManager().getLogger("").addHandler(new ConsoleHandler()); });
    kind("providers", () -> Security.getProviders()[0].getName(), () -> Security.removeProvider(Security.getProviders()[0].getName()));
    kind("security_property", () -> "" + Security.getProperty("networkaddress.cache.ttl"),
        () -> Security.setProperty("networkaddress.cache.ttl", "77"));
    kind("url_handlers", () -> { try { new URL("left://x"); return "known"; } catch (MalformedURLException e) { return "unknown"; } },
        () -> URL.setURLStreamHandlerFactory(p -> p.equals("left") ? new URLStreamHandler() {
          protected URLConnection openConnection(URL u) { return null; } } : null));
    kind("proxies", () -> "" + (ProxySelector.getDefault() != null), () -> ProxySelector.setDefault(null));
    kind("cookies", () -> "" + CookieHandler.getDefault(), () -> CookieHandler.setDefault(new CookieManager()));
    kind("number_format", () -> NumberFormat.getInstance().format(1.5), () -> NumberFormat.getInstance().setMaximumFractionDigits(0));
    kind("date_format", () -> new SimpleDateFormat("yyyy").format(new Date(0)), () -> new SimpleDateFormat("yyyy").setLenient(false));
    kind("hooks", () -> "" + number, () -> Runtime.getRuntime().addShutdownHook(new Thread(() -> number = 3)));
    kind("common_pool", () -> "" + ForkJoinPool.commonPool().getPoolSize(),
        () -> IntStream.range(0, 1000).parallel().sum());
    // ---- what runs on ----
    kind("daemon_thread", () -> threads(), () -> sleeper(true, "left"));
    kind("busy_thread", () -> threads(), () -> {
      Thread t = new Thread(() -> { for (;;) atomic.getAndIncrement(); });
      t.setName("busy");
      t.setDaemon(true);
      t.start();
    });
    kind("pool", () -> "" + (pool == null), () -> {
      pool = Executors.newFixedThreadPool(3, r -> { Thread t = new Thread(r); t.setDaemon(true); return t; });
      for (int i = 0; i < 9; ++i) pool.submit(() -> atomic.incrementAndGet()).get();
    });
    kind("timer", () -> threads(), () -> new java.util.Timer("left", true).schedule(
        new TimerTask() { public void run() { atomic.incrementAndGet(); } }, 0, 1));
    kind("locked", () -> "" + Thread.holdsLock(lock), () -> {
      CountDownLatch held = new CountDownLatch(1);
      Thread t = new Thread(() -> { synchronized (lock) { held.countDown(); for (;;) { try { Thread.sleep(9999); } catch (InterruptedException e) { } } } });
      t.setDaemon(true);
      t.start();
      held.await();
    });
    kind("child", () -> run("/bin/sh", "-c", "ps -o comm= --ppid $PPID | grep -c '^sleep$'"), () -> new ProcessBuilder("sleep", "0.3")
        .redirectOutput(ProcessBuilder.Redirect.DISCARD).redirectError(ProcessBuilder.Redirect.DISCARD).start());
    // ---- what the kernel keeps ----
    kind("open_file", () -> descriptors(), () -> list.add(new FileInputStream("/etc/passwd")));
    kind("open_socket", () -> descriptors(), () -> list.add(new ServerSocket(0, 1, InetAddress.getLoopbackAddress())));
    kind("channel", () -> descriptors(), () -> { Pipe p = Pipe.open(); list.add(p); list.add(Selector.open()); });
    kind("file_lock", () -> { try (FileChannel c = FileChannel.open(Path.of("lock"), StandardOpenOption.WRITE)) {
          return "" + (c.tryLock() != null); } catch (OverlappingFileLockException e) { return "overlaps"; } },
        () -> { FileChannel c = FileChannel.open(Path.of("lock"), StandardOpenOption.WRITE); list.add(c.lock()); });
    kind("mapped_file", () -> status("VmLck"), () -> { FileChannel c = FileChannel.open(Path.of("/etc/passwd"));
        list.add(c.map(FileChannel.MapMode.READ_ONLY, 0, 10)); });
    kind("signal_handler", () -> status("SigCgt") + status("SigIgn"),
        () -> sun.misc.Signal.handle(new sun.misc.Signal("USR2"), sun.misc.SignalHandler.SIG_IGN));
    kind("process_name", () -> status("Name"), () -> Thread.currentThread().setName("left"));
    kind("environment_of_children", () -> run("/bin/sh", "-c", "echo $LEFT; umask; ulimit -n"),
        () -> { ProcessBuilder b = new ProcessBuilder("true"); b.environment().put("LEFT", "x"); b.start().waitFor(); });
    kind("temporary_files", () -> "" + new File("left").exists(), () -> { File f = new File("left"); f.createNewFile(); f.deleteOnExit(); });
  }

  interface Function0 { int get(); }

  public static void main(String[] words) throws Exception {
    Files.readAllBytes(Path.of("/dev/null")); // a socket that java.nio keeps is open from here on
    kinds();
    String query = System.getenv("QUERY_STRING");
    StringBuilder report = new StringBuilder("Content-Type: text/plain\r\n\r\n");
    for (Map.Entry<String, Check> entry : checks.entrySet()) {
      report.append(entry.getKey()).append(": ").append(entry.getValue().see()).append('\n');
    }
    System.out.print(report);
    System.out.flush();
    String name = query.split("&")[0];
    if (name.isEmpty()) return;
    changes.get(name).make();
    if (query.endsWith("&twice")) out.print("again: " + checks.get(name).see() + "\n");
  }
}
