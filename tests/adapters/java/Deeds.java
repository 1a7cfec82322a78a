import java.io.*;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.Charset;
import java.nio.file.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.*;

// Does what its query names, and prints what a process that has seen nothing before would print.
public class Deeds {
  static int count;
  static final Object lock = new Object();

  static void look() throws Exception {
    System.out.println(++count + " " + System.getenv("QUERY_STRING") + " " + new TreeMap<>(System.getenv()));
    Properties all = System.getProperties();
    System.out.println(all.size() + " " + all.getProperty("user.dir") + " " + all.getProperty("deed"));
    System.out.println(Charset.defaultCharset() + " " + Locale.getDefault() + " " + TimeZone.getDefault().getID());
    System.out.println(System.console() + " " + Thread.currentThread().getName() + " "
        + Thread.currentThread().getPriority() + " " + Thread.activeCount() + " "
        + Thread.currentThread().getId() + " " + Thread.currentThread().isDaemon());
    System.out.println(Thread.getAllStackTraces().keySet().stream().map(t -> t.getName() + t.isDaemon())
        .sorted().collect(Collectors.toList()));
    for (StackTraceElement e : new Throwable().getStackTrace()) System.out.println(e);
    System.out.println(Runtime.getRuntime().availableProcessors() + " " + Runtime.getRuntime().maxMemory());
    System.out.println(new Thread().getName());
    System.out.println(new Random(5).nextInt() + " " + "hash".hashCode() + " " + System.in.available());
  }

  static void change() throws Exception {
    System.setProperty("deed", "done");
    System.setProperty("user.dir", "/tmp");
    Locale.setDefault(Locale.GERMANY);
    TimeZone.setDefault(TimeZone.getTimeZone("Asia/Tokyo"));
    Thread.currentThread().setName("other");
    Thread.currentThread().setPriority(3);
    Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("hook")));
    Thread.setDefaultUncaughtExceptionHandler((t, e) -> System.out.println("caught " + e));
    count += 100;
    System.out.println("changed");
    System.setOut(new PrintStream(new ByteArrayOutputStream()));
  }

  static void threads() throws Exception {
    ExecutorService pool = Executors.newFixedThreadPool(4);
    AtomicLong sum = new AtomicLong();
    List<Future<?>> all = new ArrayList<>();
    for (int i = 0; i < 100; ++i) { final int n = i; all.add(pool.submit(() -> sum.addAndGet(n))); }
    for (Future<?> f : all) f.get();
    System.out.println(sum + " " + IntStream.range(0, 100000).parallel().mapToLong(i -> i).sum());
    pool.shutdown();
    ScheduledExecutorService later = Executors.newScheduledThreadPool(1);
    System.out.println(later.schedule(() -> "later", 5, TimeUnit.MILLISECONDS).get());
    later.shutdownNow();
    java.util.Timer timer = new java.util.Timer(true);
    CountDownLatch latch = new CountDownLatch(3);
    timer.schedule(new TimerTask() { public void run() { latch.countDown(); } }, 1, 1);
    latch.await();
    synchronized (lock) {
      new Thread(() -> { synchronized (lock) { lock.notifyAll(); } }).start();
      lock.wait();
    }
    System.out.println(CompletableFuture.supplyAsync(() -> "async").thenApply(s -> s + "!").get());
  }

  static void outlive() {
    for (int i = 0; i < 3; ++i) {
      Thread t = new Thread(() -> { for (;;) { try { Thread.sleep(1000); } catch (InterruptedException e) { } } });
      t.setDaemon(true);
      t.start();
    }
    Thread busy = new Thread(() -> { for (;;) count ^= 1; });
    busy.setDaemon(true);
    busy.start();
    Thread main = Thread.currentThread();
    new Thread(() -> {
      try { main.join(); } catch (InterruptedException e) { }
      System.out.println("after main");
    }).start();
    System.out.println("main ends");
  }

  static void files() throws Exception {
    Path file = Files.createTempFile("deed", ".txt");
    Files.writeString(file, "line\nother\n");
    System.out.println(Files.readAllLines(file) + " " + Files.size(file));
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      ByteBuffer mapped = channel.map(FileChannel.MapMode.READ_WRITE, 0, 10);
      mapped.put(0, (byte) 'L');
      System.out.println((char) mapped.get(0));
    }
    try (RandomAccessFile raw = new RandomAccessFile(file.toFile(), "rw")) {
      raw.seek(4);
      System.out.println(raw.readLine() + raw.getChannel().lock().isValid());
    }
    new FileOutputStream(file.toFile(), true); // left open
    Files.delete(file);
    System.out.println(new String(Deeds.class.getResourceAsStream("Deeds.class").readNBytes(4), "ISO-8859-1").length());
  }

  static void child() throws Exception {
    Process p = new ProcessBuilder("/bin/sh", "-c", "echo child $QUERY_STRING; cat; echo err >&2; exit 3")
        .redirectErrorStream(true).start();
    p.getOutputStream().write("to child\n".getBytes());
    p.getOutputStream().close();
    System.out.print(new String(p.getInputStream().readAllBytes()));
    System.out.println(p.waitFor());
  }

  static int depth(int n) { try { return depth(n + 1); } catch (StackOverflowError e) { return n; } }

  static void strain() throws Exception {
    int deep = depth(0), in[] = new int[1];
    Thread t = new Thread(() -> in[0] = depth(0));
    t.start();
    t.join();
    System.out.println(deep > 3000 && deep < 200000 ? "overflows" : "depth " + deep);
    System.out.println(in[0] > 3000 ? "overflows" : "depth " + in[0]);
    List<byte[]> kept = new ArrayList<>();
    long sum = 0;
    for (int i = 0; i < 20000; ++i) { byte[] b = new byte[20000]; b[i % 20000] = 1; sum += b.length; if (i % 100 == 0) kept.add(b); }
    System.gc();
    System.out.println(sum + " " + kept.size());
    try { long[][] all = new long[1 << 20][]; for (int i = 0; ; ++i) all[i] = new long[1 << 27]; }
    catch (OutOfMemoryError e) { System.out.println(e.getMessage()); }
    double d = 0;
    for (int i = 1; i < 3000000; ++i) d += Math.sqrt(i) % 7;
    System.out.println(d);
    String text = null;
    try { text.length(); } catch (NullPointerException e) { System.out.println("null"); }
    try { System.out.println(1 / (count - count)); } catch (ArithmeticException e) { System.out.println(e.getMessage()); }
  }

  static void body() throws Exception {
    byte[] all = System.in.readAllBytes();
    System.out.println(all.length + " " + Arrays.hashCode(all));
  }

  static void drawn() throws Exception {
    System.out.println(new Random().nextLong() + " " + Math.random() + " " + UUID.randomUUID() + " "
        + ThreadLocalRandom.current().nextLong() + " " + new java.security.SecureRandom().nextLong() + " "
        + new SplittableRandom().nextLong() + " " + Files.createTempDirectory("drawn"));
    List<Integer> list = IntStream.range(0, 50).boxed().collect(Collectors.toList());
    Collections.shuffle(list);
    System.out.println(list);
    System.out.println(CompletableFuture.supplyAsync(() -> ThreadLocalRandom.current().nextLong()).get());
  }

  static void own() throws Exception {
    System.out.println(ProcessHandle.current().pid() + " " + System.currentTimeMillis());
  }

  public static void main(String[] words) throws Exception {
    String query = System.getenv("QUERY_STRING");
    System.out.print("Content-Type: text/plain\r\n\r\n");
    switch (query) {
      case "look": look(); break;
      case "change": change(); break;
      case "threads": threads(); break;
      case "outlive": outlive(); break;
      case "files": files(); break;
      case "child": child(); break;
      case "strain": strain(); break;
      case "body": body(); break;
      case "drawn": drawn(); break;
      case "own": own(); break;
      case "words": System.out.println(Arrays.toString(words)); break;
      case "stderr": System.err.println("to stderr"); System.out.println("to stdout"); break;
      case "exit": System.out.println("exits"); System.exit(3); break;
      case "halt": System.out.println("halts"); System.out.flush(); Runtime.getRuntime().halt(4); break;
      case "throw": throw new IllegalStateException("thrown");
      case "throw-else": new Thread(() -> { throw new IllegalStateException("else"); }).start(); break;
      case "exit-else":
        new Thread(() -> System.exit(5)).start();
        Thread.sleep(100000);
        break;
      case "hook":
        Runtime.getRuntime().addShutdownHook(new Thread(() -> { System.out.println("hook"); Runtime.getRuntime().halt(6); }));
        break;
      case "abort": sun.misc.Signal.raise(new sun.misc.Signal("TERM")); Thread.sleep(100000); break;
      case "seeds":
        System.out.println(ThreadLocalRandom.current().nextLong() + " "
            + CompletableFuture.supplyAsync(() -> ThreadLocalRandom.current().nextLong()).get());
        break;
      case "depth": System.out.println(depth(0)); break;
      case "wait": System.out.println("waits"); Thread.sleep(100000); break;
      case "silent": System.out.close(); break;
      default: System.out.println(query);
    }
  }
}
